//! How long an operation that receives had a receive without data.
//!
//! What is called ahead of the GPU has its receives posted, and they wait although the rank itself is not
//! there. Only from when its own first data was there does a rank wait for others. That moment is known when
//! an operation that sends has said so, so the waits of the transfers that may have begun before it are
//! kept until the operation ends.

use crate::decode::profiler::Transfer;

/// Transfers of an operation that NCCL has under way at once: later ones begin when the GPU has taken one.
const AHEAD: usize = 8;

/// A wait, from begin to end, since its operation was appended.
type Span = (u64, u64);

/// Of an operation that has not ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    /// What each of the first transfers waited longer than those before it.
    ahead: [Span; AHEAD],
    /// What the others did.
    later_ns: u64,
    until_ns: u64,
}

impl Waiting {
    /// Adds a receive. Several wait at the same time: that counts once.
    pub(super) fn add(&mut self, transfer: &Transfer) {
        let [waited_ns, ..] = transfer.waits_ns.map(Option::unwrap_or_default);
        let until = transfer.begin_ns.saturating_add(waited_ns);
        let from = transfer.begin_ns.max(self.until_ns);
        self.until_ns = self.until_ns.max(until);
        if until <= from {
            return;
        }
        // Numbers of transfers begin anew after the last one of 16 bits.
        match self.ahead.get_mut(usize::from(transfer.number)) {
            Some(span @ (0, 0)) => *span = (from, until),
            _ => self.later_ns = self.later_ns.saturating_add(until.saturating_sub(from)),
        }
    }

    /// Nanoseconds in which data was waited for, not before `from_ns`.
    pub(super) fn since(&self, from_ns: u64) -> u64 {
        let after = |(from, until): &Span| until.saturating_sub((*from).max(from_ns));
        self.ahead.iter().map(after).fold(self.later_ns, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(number: u16, begin_ns: u64, waited_ns: u64) -> Transfer {
        let waits_ns = [Some(waited_ns), Some(1), Some(1)];
        Transfer { operation: 1, number, is_send: false, begin_ns, waits_ns }
    }

    #[test]
    fn receives_that_wait_together_count_once_and_not_before_the_own_data() {
        let mut waiting = Waiting::default();
        for (number, waited) in [(0, 50), (1, 60), (2, 55)] {
            waiting.add(&receive(number, 0, waited));
        }
        waiting.add(&receive(9, 70, 10));
        assert_eq!(waiting.since(0), 60 + 10);
        assert_eq!(waiting.since(40), 20 + 10);
        assert_eq!(waiting.since(55), 5 + 10);
        assert_eq!(waiting.since(1000), 10, "the GPU took one before: it was there");
        // The number that begins anew is none of the first.
        waiting.add(&receive(0, 100, 5));
        assert_eq!(waiting.since(1000), 15);
    }
}
