//! A rank that others waited for most of the time, however seldom.
//!
//! One delay of a minute says nothing about the next one, so no test over many training steps
//! (`significant.rs`) names its rank. But it is where the time went.

use std::collections::{BTreeMap, BTreeSet};

use super::significant::{self, SignificantStraggler};
use super::unit::{self, Unit, Units};
use crate::analysis::judged::JudgedCollective;
use crate::link::job::CommunicatorId;

/// The delays are at least one in so many parts of the time of all training steps.
const PARTS_OF_TIME: u64 = 2;

/// In a job of few short training steps, one may take most of the time by chance.
const LEAST_NS: u64 = 1_000_000_000;

/// Ranks not among `known` for which the others waited most of the time, in collectives that name them.
#[must_use]
pub fn find(
    collectives: &[JudgedCollective],
    units: &BTreeMap<CommunicatorId, Units>,
    known: &[SignificantStraggler],
) -> Vec<SignificantStraggler> {
    let of = unit::group(collectives);
    let mut found = Vec::new();
    for (id, units) in units {
        let own = of.get(id).map_or(&[][..], Vec::as_slice);
        let is_known =
            |rank: u32| known.iter().any(|late| late.communicator == *id && late.rank == rank);
        let time_ns: u64 = units.all.iter().map(|unit| unit.span.length_ns()).sum();
        let named: BTreeSet<u32> =
            units.all.iter().flat_map(|unit| unit.named.iter().copied()).collect();
        for rank in named.into_iter().filter(|rank| !is_known(*rank)) {
            let late: Vec<&Unit> =
                units.all.iter().filter(|unit| unit.named.contains(&rank)).collect();
            let waited_ns: u64 = late.iter().map(|unit| unit.delay_ns(rank)).sum();
            if waited_ns >= LEAST_NS && waited_ns > time_ns / PARTS_OF_TIME {
                found.extend(significant::of_units(*id, rank, &late, units.all.len(), own));
            }
        }
    }
    found
}
