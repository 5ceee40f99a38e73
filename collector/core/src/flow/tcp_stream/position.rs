//! TCP sequence numbers that do not wrap.

use std::num::NonZeroU64;

/// A sequence number extended beyond its 32 bits (RFC 9293, section 3.4: they wrap after 4 GiB).
/// The first one of a direction is in the second turn, so that there is space below it. None is 0, so that
/// `Option<Position>` takes no more memory: each direction of each connection has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(NonZeroU64);

impl Position {
    fn at(place: u64) -> Self {
        Self(NonZeroU64::new(place).unwrap_or(NonZeroU64::MIN))
    }

    /// Start of a direction whose first sequence number is `sequence`.
    pub(super) fn first(sequence: u32) -> Self {
        Self::at(1 << 32 | u64::from(sequence))
    }

    /// The position of `sequence` nearest to this one.
    pub(super) fn near(self, sequence: u32) -> Self {
        let ahead = sequence.wrapping_sub(self.0.get() as u32).cast_signed();
        Self::at(self.0.get().saturating_add_signed(i64::from(ahead)))
    }

    /// The next position of `sequence`, less than 4 GiB ahead.
    pub(super) fn following(self, sequence: u32) -> Self {
        self.plus(u64::from(sequence.wrapping_sub(self.0.get() as u32)))
    }

    /// This many bytes further.
    pub(super) fn plus(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }

    /// Bytes from `earlier` to this one; 0 if it is not earlier.
    pub(super) fn since(self, earlier: Self) -> u64 {
        self.0.get().saturating_sub(earlier.0.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_of_a_number_may_lie_on_the_next_turn_or_on_the_one_before() {
        let last = Position::first(u32::MAX);
        assert_eq!(last.near(5).since(last), 6);
        assert_eq!(last.since(last.near(u32::MAX - 5)), 5);
        assert_eq!(Position::first(0).since(Position::first(0).near(u32::MAX)), 1);
    }

    #[test]
    fn no_place_is_before_the_first_turn() {
        let start = Position::first(0);
        let before = start.near(1 << 31).near(0);
        assert_eq!(start.since(before), (1 << 32) - 1, "the lowest place is 1");
    }

    #[test]
    fn the_next_place_of_a_number_is_ahead() {
        assert_eq!(Position::first(9).following(8).since(Position::first(9)), u64::from(u32::MAX));
    }
}
