//! Continues the numbers of training steps after earlier ones were dropped: the analysis itself
//! numbers the steps still in memory from 0.

use std::collections::BTreeMap;

use super::Iteration;
use super::thresholds::SAME_START_PARTS;
use crate::link::job::{CommunicatorId, Identity, Job};
use crate::model::time::Timestamp;

/// Training steps that were numbered before.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    /// When each began, and its number, by the communicator that leads; in order of time.
    known: BTreeMap<Identity, Vec<(Timestamp, u32)>>,
}

impl Numbering {
    /// Remembers the numbers of a communicator's training steps, by start time.
    pub fn learn(&mut self, communicator: Identity, numbers: Vec<(Timestamp, u32)>) {
        if !numbers.is_empty() {
            self.known.insert(communicator, numbers);
        }
    }

    /// Forgets communicators that are gone.
    pub fn retain(&mut self, is_there: impl Fn(&Identity) -> bool) {
        self.known.retain(|identity, _| is_there(identity));
    }

    /// Numbers the training steps; they keep their numbers if no earlier step of their job is
    /// known.
    pub fn apply(&self, job: &Job, iterations: &mut [Iteration]) {
        if self.known.is_empty() {
            return;
        }
        let mut offsets: BTreeMap<CommunicatorId, u32> = BTreeMap::new();
        for one in &*iterations {
            if offsets.contains_key(&one.communicator) {
                continue;
            }
            let known = job.communicator(one.communicator);
            let known = known.and_then(|known| self.known.get(&known.identity));
            if let Some(offset) = known.and_then(|known| offset(known, one)) {
                offsets.insert(one.communicator, offset);
            }
        }
        for one in iterations {
            let offset = offsets.get(&one.communicator).copied().unwrap_or(0);
            one.number = one.number.saturating_add(offset);
        }
    }
}

/// What to add to the number of `one`; `None` if unknown.
fn offset(known: &[(Timestamp, u32)], one: &Iteration) -> Option<u32> {
    let (start, tolerance) = (one.span.first, one.length_ns() / SAME_START_PARTS);
    let distance = |time: Timestamp| time.relative_to(start).unsigned_abs();
    let nearest = known.iter().min_by_key(|(time, _)| distance(*time))?;
    let (last, number) = known.last()?;
    if distance(nearest.0) <= tolerance {
        return Some(nearest.1.saturating_sub(one.number));
    }
    // All numbered steps were dropped: continue after the last.
    (start > *last).then(|| number.saturating_add(1).saturating_sub(one.number))
}
