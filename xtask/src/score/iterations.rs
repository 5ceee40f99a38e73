//! Training steps: whether each was found with exactly its collectives, and when it began.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, Column, Tally};
use super::collectives::paired;
use super::matching::Matching;
use super::truth::Truth;

/// Columns about training steps.
#[derive(Default)]
pub(super) struct Score {
    /// `None` if the truth has no training steps.
    found: Option<Tally>,
    start_errors_ns: Vec<i64>,
}

/// A training step of the truth, with those of its collectives that were found.
#[derive(Default)]
struct Known {
    /// Places of its collectives in the report.
    said: BTreeSet<usize>,
    start_ns: Option<i64>,
}

impl Score {
    pub(super) fn new(matching: &Matching<'_>) -> Self {
        let known = known(matching);
        if known.is_empty() {
            return Self::default();
        }
        let mut score = Self::default();
        let mut found = Tally::default();
        let places: BTreeSet<usize> = known.values().flat_map(|one| one.said.clone()).collect();
        let said: Vec<(BTreeSet<usize>, i64)> = matching
            .report
            .iterations
            .iter()
            .map(|one| (one.collective_ids.iter().copied().collect(), one.start_ns))
            .collect();
        for one in known.values() {
            let same = said.iter().find(|(said, _)| *said == one.said);
            let is_there = said.iter().any(|(said, _)| !said.is_disjoint(&one.said));
            found.count(if same.is_some() { Some(true) } else { is_there.then_some(false) });
            if let Some(((_, start_ns), known_ns)) = same.zip(one.start_ns) {
                score
                    .start_errors_ns
                    .push((matching.report.origin_ns() + start_ns - known_ns).abs());
            }
        }
        // The truth lacks the training step in which a rank was killed.
        let is_unknown = |said: &BTreeSet<usize>| said.is_disjoint(&places);
        if !matching.truth.is_killed() {
            found.wrong += said.iter().filter(|(said, _)| is_unknown(said)).count() as u64;
        }
        score.found = Some(found);
        score
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        vec![
            ("training steps", self.found.map_or(Cell::Empty, Cell::from)),
            ("training step starts", Cell::differences(self.start_errors_ns.clone())),
        ]
    }
}

/// The training steps of the truth by job and number.
fn known(matching: &Matching<'_>) -> BTreeMap<(usize, u64), Known> {
    let truth = matching.truth;
    let mut all: BTreeMap<(usize, u64), Known> = BTreeMap::new();
    for at in 0..truth.communicators.len() {
        for (known, said) in paired(matching, at) {
            let Some(iteration) = known.collective.training_step() else { continue };
            let one = all.entry((job_of(truth, at), iteration)).or_default();
            one.said.extend(said.and_then(|said| {
                matching.report.collectives.iter().position(|other| std::ptr::eq(other, said))
            }));
            let start_ns = known.start_ns();
            one.start_ns = Some(one.start_ns.map_or(start_ns, |earlier| earlier.min(start_ns)));
        }
    }
    all
}

/// The first communicator that shares ranks with the one at `at`: both are of one job.
fn job_of(truth: &Truth, at: usize) -> usize {
    let ranks = &truth.communicators[at].ranks;
    let shares =
        |other: &usize| truth.communicators[*other].ranks.iter().any(|rank| ranks.contains(rank));
    (0..at).find(shares).unwrap_or(at)
}
