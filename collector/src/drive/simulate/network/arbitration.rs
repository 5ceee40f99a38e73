//! Which priority a port sends next.

use super::plan::PrioritySet;

/// Strict priorities first, the highest of them before the others; those that are not strict take
/// turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arbiter {
    strict: u8,
    /// The one that had the last turn.
    last: u8,
}

impl Arbiter {
    pub(super) const fn new(strict: PrioritySet) -> Self {
        Self { strict: strict.0, last: 0 }
    }

    /// One of `waiting`, a set of priorities.
    pub(super) fn choose(&mut self, waiting: u8) -> Option<u8> {
        let strict = waiting & self.strict;
        if strict != 0 {
            return Some(7 - strict.leading_zeros() as u8);
        }
        if waiting == 0 {
            return None;
        }
        let first = (self.last + 1) & 7;
        let distance = waiting.rotate_right(u32::from(first)).trailing_zeros() as u8;
        self.last = (first + distance) & 7;
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::Arbiter;
    use crate::drive::simulate::network::plan::PrioritySet;

    fn turns(arbiter: &mut Arbiter, waiting: u8) -> Vec<u8> {
        (0..5).filter_map(|_| arbiter.choose(waiting)).collect()
    }

    #[test]
    fn those_that_are_not_strict_take_turns() {
        let mut arbiter = Arbiter::new(PrioritySet(0));
        assert_eq!(turns(&mut arbiter, 0b1000_1001), [3, 7, 0, 3, 7]);
        assert_eq!(turns(&mut arbiter, 0b0000_1000), [3; 5]);
        assert_eq!(turns(&mut arbiter, 0), []);
    }

    #[test]
    fn strict_ones_come_first() {
        let mut arbiter = Arbiter::new(PrioritySet(0b0110_0000));
        assert_eq!(turns(&mut arbiter, 0b0110_1000), [6; 5]);
        assert_eq!(turns(&mut arbiter, 0b0010_1000), [5; 5]);
        assert_eq!(turns(&mut arbiter, 0b0000_1000), [3; 5]);
    }
}
