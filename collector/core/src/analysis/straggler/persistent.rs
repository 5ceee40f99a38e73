//! A persistent straggler: if a rank is also late in the surrounding training steps, half the usual
//! threshold is enough.
//!
//! Measured lateness varies from step to step, as does the other ranks', but not by an order of
//! magnitude: any rank may be slightly late.

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

/// ... and in this one by at least 1/`PARTS_OF_USUAL` of its lateness in those.
const PARTS_OF_USUAL: u64 = 8;

/// The stragglers among `candidates`, one per collective.
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
