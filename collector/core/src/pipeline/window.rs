//! A window on live traffic: messages older than that are forgotten, so that memory and the time of
//! an analysis stay bounded.
//!
//! Facts of the control plane are kept, and so are the counters of flows and ports, which count
//! from the start. Training steps in the window have the same values as in a report on everything.

use std::collections::BTreeMap;

use super::{Linking, Pipeline};
use crate::analysis::judged::JudgedIteration;
use crate::analysis::understanding::Understanding;
use crate::link::job::Identity;
use crate::model::health::event::HealthEvent;
use crate::model::time::{Span, Timestamp};

/// The window shrinks if less than 1/`LEAST_ROOM` of the message slots are free ...
const LEAST_ROOM: usize = 8;
/// ... by 1/`CROWDED_PART`.
const CROWDED_PART: u64 = 4;

/// Counters are kept as long as the messages in the window, but for at most this many windows.
const COUNTER_WINDOWS: u64 = 4;

impl Pipeline {
    /// Drops messages that passed more than `window_ns` before the latest one, and later ones if
    /// memory is short. `understanding` is the latest of this pipeline: its training steps keep
    /// their numbers, and none in the window is cut.
    ///
    /// NIC counters are kept for as long.
    pub fn slide(&mut self, window_ns: u64, understanding: &Understanding) {
        self.slide_messages(window_ns, understanding);
        let Some(latest) = self.counters.latest() else { return };
        let messages = self.linking.as_ref().and_then(Linking::messages);
        let bound = before(latest, window_ns);
        let bound = messages.map_or(bound, |span| bound.min(span.first));
        // The messages of a finished job stay, but NICs go on counting.
        let least = before(latest, window_ns.saturating_mul(COUNTER_WINDOWS));
        self.counters.forget_before(bound.max(least));
    }

    /// Whether there is little room for more messages: analyse, then slide the window.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let room = self.linking.as_ref().map(Linking::room);
        room.is_some_and(|room| room < self.message_capacity / LEAST_ROOM)
    }

    fn slide_messages(&mut self, window_ns: u64, understanding: &Understanding) {
        let is_crowded = self.is_crowded();
        let Some(linking) = &mut self.linking else { return };
        let Some(Span { first, last }) = linking.messages() else { return };
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
        linking.control.forget_before(cut);
        if cut > before(last, window_ns) {
            self.health.add(HealthEvent::LinkWindowShortened, 1);
        }
        starts.into_iter().for_each(|(of, starts)| self.numbering.learn(of, starts));
    }
}

/// Start of the training step before the one that contains `bound`: one more is kept, since a
/// training step may begin before the last messages of the previous one have passed.
fn begin(starts: &[(Timestamp, u32)], bound: Timestamp) -> Option<Timestamp> {
    let begun = starts.partition_point(|(start, _)| *start <= bound);
    starts.get(begun.checked_sub(2)?).map(|(start, _)| *start)
}

/// Starts and numbers of each job's training steps, in order of time.
fn starts(understanding: &Understanding) -> BTreeMap<Identity, Vec<(Timestamp, u32)>> {
    let mut starts: BTreeMap<Identity, Vec<_>> = BTreeMap::new();
    for JudgedIteration { iteration, .. } in &understanding.iterations {
        let Some(of) = understanding.identity(iteration.communicator) else { continue };
        starts.entry(of).or_default().push((iteration.span.first, iteration.number));
    }
    starts
}

fn before(time: Timestamp, nanos: u64) -> Timestamp {
    Timestamp::from_nanos(time.as_nanos().saturating_sub(nanos))
}
