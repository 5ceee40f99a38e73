//! Which priority a port sends next.

use super::id::{PRIORITIES, PrioritySet};

/// Strict priorities first, the highest before the others; the rest share the bytes equally
/// (start-time fair queueing, Goyal et al., SIGCOMM 1996).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arbiter {
    strict: u8,
    /// Virtual start of each priority's next frame, in bytes.
    starts: [u64; PRIORITIES],
    /// Virtual start of the last frame: an idle priority saves up no credit.
    now: u64,
}

impl Arbiter {
    pub(super) const fn new(strict: PrioritySet) -> Self {
        Self { strict: strict.0, starts: [0; PRIORITIES], now: 0 }
    }

    /// One of the priorities in `waiting`; its frame must be [`Self::charge`]d.
    pub(super) fn choose(&self, waiting: u8) -> Option<u8> {
        let strict = waiting & self.strict;
        if strict != 0 {
            return Some(7 - strict.leading_zeros() as u8);
        }
        if waiting.is_power_of_two() {
            return Some(waiting.trailing_zeros() as u8);
        }
        let is_waiting = |priority: &u8| waiting & PrioritySet::only(*priority).0 != 0;
        let start = |priority: &u8| self.starts[usize::from(*priority)].max(self.now);
        (0..8).filter(is_waiting).min_by_key(start)
    }

    /// Charges a frame of `priority`.
    pub(super) fn charge(&mut self, priority: u8, frame_bytes: u16) {
        if self.strict & PrioritySet::only(priority).0 == 0 {
            let start = &mut self.starts[usize::from(priority & 7)];
            self.now = (*start).max(self.now);
            *start = self.now + u64::from(frame_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arbiter;
    use crate::simulate::network::id::PrioritySet;

    /// Bytes sent per priority over many turns, with frames of these sizes.
    fn shares<const N: usize>(arbiter: &mut Arbiter, frames: [(u8, u16); N]) -> [u64; N] {
        let waiting = frames.iter().fold(0, |set, (p, _)| set | PrioritySet::only(*p).0);
        let mut bytes = [0; N];
        for _ in 0..10_000 {
            let chosen = arbiter.choose(waiting).unwrap();
            let place = frames.iter().position(|(p, _)| *p == chosen).unwrap();
            arbiter.charge(chosen, frames[place].1);
            bytes[place] += u64::from(frames[place].1);
        }
        bytes
    }

    #[test]
    fn those_that_are_not_strict_get_equal_shares_of_bytes() {
        let mut arbiter = Arbiter::new(PrioritySet(0));
        // A priority that was alone before has no debt afterwards.
        shares(&mut arbiter, [(3, 4000)]);
        let [small, large] = shares(&mut arbiter, [(0, 100), (3, 4000)]);
        assert!(small.abs_diff(large) <= 4000, "{small} {large}");
        assert_eq!(arbiter.choose(0), None);
    }

    #[test]
    fn strict_ones_come_first() {
        let mut arbiter = Arbiter::new(PrioritySet(0b0110_0000));
        assert_eq!(shares(&mut arbiter, [(3, 10), (5, 10), (6, 10)]), [0, 0, 100_000]);
        assert_eq!(shares(&mut arbiter, [(3, 10), (5, 10)]), [0, 100_000]);
    }
}
