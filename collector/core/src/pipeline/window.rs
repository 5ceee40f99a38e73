//! A window on traffic that has no end: messages older than that are forgotten, so that memory and
//! the time that a report takes stay what they are.
//!
//! What the control plane said once is kept, and so are the counters of flows and ports, which count
//! from the beginning. Training steps that lie in the window have the values that they would have in
//! a report of everything.

use std::collections::BTreeMap;

use super::Pipeline;
use crate::analysis::judged::JudgedIteration;
use crate::analysis::understanding::Understanding;
use crate::model::time::{Span, Timestamp};

/// The window gets shorter when so few parts in so many of the room for messages are left ...
const LEAST_ROOM: usize = 8;
/// ... by one part in so many.
const CROWDED_PART: u64 = 4;

/// Counters are kept for the messages in the window, but no longer than so many windows.
const COUNTER_WINDOWS: u64 = 4;

impl Pipeline {
    /// Forgets messages that passed more than `window_ns` before the latest one, or more where they
    /// have no room. `understanding` is the latest of this pipeline: its training steps keep their
    /// numbers, and none that the window still has is cut.
    ///
    /// Of NIC counters, what is needed for as long is kept.
    pub fn slide(&mut self, window_ns: u64, understanding: &Understanding) {
        self.slide_messages(window_ns, understanding);
        let Some(latest) = self.counters.latest() else { return };
        let messages = self.linking.as_ref().and_then(|linking| linking.traffic.span());
        let bound = before(latest, window_ns);
        let bound = messages.map_or(bound, |span| bound.min(span.first));
        // The messages of a job that has ended stay; what NICs count goes on.
        let least = before(latest, window_ns.saturating_mul(COUNTER_WINDOWS));
        self.counters.forget_before(bound.max(least));
    }

    /// Whether there is hardly room for more messages: the window wants to slide, and before that a
    /// report of what it forgets.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let room = self.linking.as_ref().map(|linking| linking.traffic.room());
        room.is_some_and(|room| room < self.message_capacity / LEAST_ROOM)
    }

    fn slide_messages(&mut self, window_ns: u64, understanding: &Understanding) {
        let is_crowded = self.is_crowded();
        let Some(linking) = &mut self.linking else { return };
        let Some(Span { first, last }) = linking.traffic.span() else { return };
        let mut bound = first.max(before(last, window_ns));
        if is_crowded {
            bound = bound.max(first.plus_nanos(last.nanos_since(first) / CROWDED_PART));
        }
        if bound <= first {
            return;
        }
        let starts = starts(understanding);
        let cut = starts.values().map(|starts| begin(starts, bound).unwrap_or(first)).min();
        let cut = cut.filter(|_| !is_crowded).unwrap_or(bound);
        if cut <= first {
            return;
        }
        linking.traffic.forget_before(cut);
        starts.into_iter().for_each(|(of, starts)| self.numbering.learn(&of, starts));
    }
}

/// When the training step before the one that `bound` is in began: one more is kept, because it may
/// begin before the last messages of the one before have passed.
fn begin(starts: &[(Timestamp, u32)], bound: Timestamp) -> Option<Timestamp> {
    let begun = starts.partition_point(|(start, _)| *start <= bound);
    starts.get(begun.checked_sub(2)?).map(|(start, _)| *start)
}

/// When the training steps of each job began, and their numbers, in order of time.
fn starts(understanding: &Understanding) -> BTreeMap<String, Vec<(Timestamp, u32)>> {
    let mut starts: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let Some(job) = &understanding.state.job else { return starts };
    for JudgedIteration { iteration, .. } in &understanding.iterations {
        let of = job.name_of(iteration.communicator).unwrap_or_default();
        starts.entry(of).or_default().push((iteration.span.first, iteration.number));
    }
    starts
}

fn before(time: Timestamp, nanos: u64) -> Timestamp {
    Timestamp::from_nanos(time.as_nanos().saturating_sub(nanos))
}
