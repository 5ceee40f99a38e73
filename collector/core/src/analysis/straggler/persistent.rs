//! A rank that is late again and again: if it was late in the training steps around as well, half
//! the usual threshold is enough.
//!
//! Measured lateness varies between training steps, as that of the ranks compared with does. But
//! not by an order of magnitude: a much smaller lateness could be any rank's.

use std::collections::BTreeMap;

use super::sign::{Sign, SignKind};
use super::{Candidate, Straggler};
use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// Training steps considered before and after one.
const NEIGHBOURS: u32 = 2;

/// The rank must be late in this many of them ...
const AGREEING: usize = 2;

/// ... and here by at least one in this many parts of its lateness there.
const PARTS_OF_USUAL: u64 = 8;

/// The stragglers among `candidates`, which are those of `collectives`.
#[must_use]
pub fn name(
    candidates: Vec<Option<Candidate>>,
    collectives: &[Collective],
    iterations: &[Iteration],
) -> Vec<Option<Straggler>> {
    let numbers: BTreeMap<usize, u32> = iterations
        .iter()
        .flat_map(|one| one.collectives.iter().map(|place| (*place, one.number)))
        .collect();
    // Ranks are numbered in the communicator of the collective.
    let at = |place: usize| Some((collectives.get(place)?.communicator, *numbers.get(&place)?));
    let mut late = BTreeMap::new();
    for (place, candidate) in candidates.iter().enumerate() {
        if let (Some(Candidate { straggler, least_ns }), Some((communicator, number))) =
            (candidate, at(place))
            && straggler.cause.is_own()
            && straggler.lag_ns > *least_ns
        {
            let known = late.entry((communicator, straggler.rank, number)).or_insert(0);
            *known = straggler.lag_ns.max(*known);
        }
    }
    let around = |place: usize, rank: u32| -> Vec<u64> {
        let Some((communicator, number)) = at(place) else { return Vec::new() };
        let near = number.saturating_sub(NEIGHBOURS)..=number.saturating_add(NEIGHBOURS);
        let others = near.filter(|other| *other != number);
        others.filter_map(|other| late.get(&(communicator, rank, other)).copied()).collect()
    };
    let straggler = |(place, candidate): (usize, Option<Candidate>)| {
        let Candidate { mut straggler, least_ns } = candidate?;
        if straggler.lag_ns > least_ns {
            return Some(straggler);
        }
        let around = around(place, straggler.rank);
        let usual_ns = lower_median(around.iter().copied())?;
        let enough_ns = (least_ns / 2).max(usual_ns / PARTS_OF_USUAL);
        if !straggler.cause.is_own() || straggler.lag_ns <= enough_ns || around.len() < AGREEING {
            return None;
        }
        straggler.grade = Grade::Inferred;
        straggler.evidence.push(Sign {
            kind: SignKind::Persistent {
                rank: straggler.rank,
                usual_ns,
                late: around.len() as u64,
                of: u64::from(2 * NEIGHBOURS),
            },
            witness: None,
        });
        Some(straggler)
    };
    candidates.into_iter().enumerate().map(straggler).collect()
}
