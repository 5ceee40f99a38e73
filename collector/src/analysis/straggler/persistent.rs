//! A rank that is late again and again: in a training step between others in which it was late, it
//! needs to cost only half of what a straggler costs.
//!
//! How much of a rank's lateness the wire shows varies from training step to training step: the
//! ranks it is compared with have theirs, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Sign, Straggler};
use crate::analysis::iteration::Iteration;
use crate::model::grade::Grade;

/// Training steps before one, and behind it, that have a say.
const NEIGHBOURS: u32 = 2;

/// In so many of them the rank must be late.
const AGREEING: usize = 2;

/// The stragglers among `candidates`, by their collectives' places.
#[must_use]
pub fn name(
    candidates: Vec<Option<Candidate>>,
    iterations: &[Iteration],
) -> Vec<Option<Straggler>> {
    let by_place: BTreeMap<usize, &Iteration> = iterations
        .iter()
        .flat_map(|one| one.collectives.iter().map(move |place| (*place, one)))
        .collect();
    let mut late = BTreeSet::new();
    for (place, candidate) in candidates.iter().enumerate() {
        if let (Some(Candidate { straggler, least_ns }), Some(iteration)) =
            (candidate, by_place.get(&place))
            && straggler.cause.is_own()
            && straggler.lag_ns > *least_ns
        {
            late.insert((iteration.communicator, straggler.rank, iteration.number));
        }
    }
    let around = |place: usize, rank: u32| -> usize {
        let Some(Iteration { communicator, number, .. }) = by_place.get(&place) else { return 0 };
        let near = number.saturating_sub(NEIGHBOURS)..=number.saturating_add(NEIGHBOURS);
        let others = near.filter(|other| other != number);
        others.filter(|other| late.contains(&(*communicator, rank, *other))).count()
    };
    let straggler = |(place, candidate): (usize, Option<Candidate>)| {
        let Candidate { mut straggler, least_ns } = candidate?;
        if straggler.lag_ns > least_ns {
            return Some(straggler);
        }
        let count = around(place, straggler.rank);
        if !straggler.cause.is_own() || straggler.lag_ns <= least_ns / 2 || count < AGREEING {
            return None;
        }
        straggler.grade = Grade::Inferred;
        straggler.evidence.push(Sign {
            kind: "persistent",
            text: format!(
                "rank {} was late by more in {count} of the {} training steps around",
                straggler.rank,
                2 * NEIGHBOURS
            ),
            witness: None,
        });
        Some(straggler)
    };
    candidates.into_iter().enumerate().map(straggler).collect()
}
