//! The clock of a pcapng interface: converts its 64-bit counts to nanoseconds.

use railscope_core::model::time::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Resolution and offset of an interface's times (`if_tsresol`, `if_tsoffset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    unit: Unit,
    offset_ns: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A count is this many nanoseconds.
    Nanos(u64),
    /// A nanosecond is this many counts.
    PerNano(u64),
    /// A second is two to this power of counts.
    BinaryFraction(u8),
}

impl Clock {
    /// A clock from the raw options; `if_tsresol` is 6 (microseconds) by default.
    ///
    /// Wire: the high bit of `if_tsresol` chooses the base (0 ten, 1 two), the rest is the negated
    /// power; `if_tsoffset` is in seconds.
    pub(super) fn new(tsresol: u8, tsoffset_s: i64) -> Self {
        let power = tsresol & 0x7f;
        let unit = match (tsresol & 0x80 != 0, power.checked_sub(9)) {
            (true, _) => Unit::BinaryFraction(power),
            // Finer than 64 bits can count up to a nanosecond saturates, and every time is 0.
            (false, Some(finer)) => Unit::PerNano(10_u64.saturating_pow(u32::from(finer))),
            (false, None) => Unit::Nanos(10_u64.pow(u32::from(9 - power))),
        };
        Self { unit, offset_ns: i128::from(tsoffset_s) * i128::from(NANOS_PER_SECOND) }
    }

    /// The same with the default resolution.
    pub(super) const fn of_microseconds(self) -> Self {
        Self { unit: Unit::Nanos(1000), ..self }
    }

    /// The time of a count; `None` if it is before 1970 or after 2554.
    #[inline]
    pub(super) fn to_timestamp(self, count: u64) -> Option<Timestamp> {
        let nanos = match self.unit {
            Unit::Nanos(nanos) => i128::from(count) * i128::from(nanos),
            Unit::PerNano(counts) => i128::from(count / counts),
            Unit::BinaryFraction(power) => {
                (i128::from(count) * i128::from(NANOS_PER_SECOND)) >> power
            }
        };
        u64::try_from(nanos + self.offset_ns).ok().map(Timestamp::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(tsresol: u8, tsoffset_s: i64, count: u64) -> Option<u64> {
        Clock::new(tsresol, tsoffset_s).to_timestamp(count).map(Timestamp::as_nanos)
    }

    #[test]
    fn decimal_and_binary_resolutions() {
        assert_eq!(nanos(0, 0, 7), Some(7_000_000_000));
        assert_eq!(nanos(6, 0, 7), Some(7_000));
        assert_eq!(nanos(9, 0, 7), Some(7));
        assert_eq!(nanos(12, 0, 7_999), Some(7));
        assert_eq!(nanos(127, 0, u64::MAX - 1), Some(0));
        assert_eq!(nanos(0x80, 0, 7), Some(7_000_000_000));
        assert_eq!(nanos(0x80 | 10, 0, 512), Some(500_000_000));
        assert_eq!(nanos(0xff, 0, u64::MAX), Some(0));
    }

    #[test]
    fn the_offset_may_be_negative_and_the_range_is_checked() {
        assert_eq!(nanos(9, 100, 7), Some(100_000_000_007));
        assert_eq!(nanos(0, -100, 101), Some(1_000_000_000));
        assert_eq!(nanos(0, -100, 99), None);
        assert_eq!(nanos(6, 0, u64::MAX), None);
        assert_eq!(nanos(0, i64::MAX, u64::MAX), None);
    }
}
