//! Packet sequence numbers: 24 bits on a circle (IBTA volume 1, section 9.7.1).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A 24-bit packet sequence number. Numbers are ordered only by their distance on the circle.
#[doc(alias = "infiniband.bth.psn")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Psn(u32);

impl Psn {
    /// The largest number; the next one is 0.
    pub const MAX: Self = Self(0xff_ffff);

    /// A number from the low 24 bits of `value`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value & 0xff_ffff)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `packets` further on the circle.
    #[must_use]
    pub const fn plus(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_add(packets))
    }

    /// Steps from `other` to `self` the shorter way round: positive when `self` is ahead.
    /// In -2^23 ..= 2^23 - 1.
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        // Shifting the 24-bit difference to the top of the word lets the sign bit do the wrapping.
        ((self.0.wrapping_sub(other.0) << 8) as i32) >> 8
    }

    /// Whether `self` lies ahead of `other`, by at most half the circle.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distance_wraps_both_ways() {
        assert_eq!(Psn::new(0).distance_from(Psn::MAX), 1);
        assert_eq!(Psn::MAX.distance_from(Psn::new(0)), -1);
        assert_eq!(Psn::new(0x80_0000).distance_from(Psn::new(0)), -0x80_0000);
    }

    proptest! {
        #[test]
        fn plus_and_distance_agree(start in 0u32..1 << 24, ahead in 0u32..1 << 23) {
            let start = Psn::new(start);
            prop_assert_eq!(start.plus(ahead).distance_from(start), ahead as i32);
        }
    }
}
