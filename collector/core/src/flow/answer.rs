//! READ requests and atomics waiting for their responses, matched by PSN.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Requests remembered per flow. RC responders accept at most 255 of them at once; NICs 16 or so.
const CAPACITY: usize = 256;

/// Requests of one flow that are answered with data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answers {
    /// Unwrapped first PSN and number of packets of each (0: unknown), oldest first.
    waiting: VecDeque<(i64, u32)>,
    answered: u64,
    forgotten: u64,
}

impl Answers {
    /// A READ request or atomic was sent that consumes `span` PSNs (0: unknown) from `psn`
    /// (unwrapped) on.
    pub fn asked(&mut self, psn: i64, span: u32) {
        if self.waiting.len() >= CAPACITY {
            self.waiting.pop_front();
            self.forgotten += 1;
        }
        self.waiting.push_back((psn, span));
    }

    /// The last packet of a response was seen, with the unwrapped PSN `psn`.
    pub fn answered(&mut self, psn: i64) {
        let after = self.waiting.partition_point(|(first, _)| *first <= psn);
        let Some(at) = after.checked_sub(1) else { return };
        let covers = |(first, span): (i64, u32)| span == 0 || psn < first + i64::from(span);
        if self.waiting.get(at).copied().is_some_and(covers) {
            self.waiting.remove(at);
            self.answered += 1;
        }
    }

    /// Requests with a completely seen response.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.answered
    }

    /// Requests evicted for lack of space.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }
}
