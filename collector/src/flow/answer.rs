//! READ requests and atomics that wait for their answer, matched to it by PSN.

use std::collections::VecDeque;

/// Requests remembered per flow. RC responders accept at most 255 of them at once; NICs 16 or so.
const CAPACITY: usize = 256;

/// Requests of one flow that another packet answers with data.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Unwrapped first PSN and packets of each, oldest first.
    waiting: VecDeque<(i64, u32)>,
    answered: u64,
    forgotten: u64,
}

impl Answers {
    /// A READ request or atomic was sent that takes `span` PSNs from `psn` (unwrapped) on.
    pub fn asked(&mut self, psn: i64, span: u32) {
        if self.waiting.len() >= CAPACITY {
            self.waiting.pop_front();
            self.forgotten += 1;
        }
        self.waiting.push_back((psn, span.max(1)));
    }

    /// The last packet of an answer, with the unwrapped PSN `psn`, was seen. An answer whose
    /// request was given an unknown packet count is matched by the nearest request before it.
    pub fn answered(&mut self, psn: i64) {
        let after = self.waiting.partition_point(|(first, _)| *first <= psn);
        if after > 0 && self.waiting.remove(after - 1).is_some() {
            self.answered += 1;
        }
    }

    /// Requests whose answer was seen to its end.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.answered
    }

    /// Requests whose answer was not seen.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.waiting.len() as u64 + self.forgotten
    }
}
