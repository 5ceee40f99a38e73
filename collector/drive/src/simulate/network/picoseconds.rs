//! Time inside the network: a byte takes 20 ps at 400 Gb/s, so rounding to nanoseconds would add up
//! to errors.

use crate::simulate::time::VirtualTime;

/// Picoseconds since the simulation started, or between two times: up to 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Picoseconds(pub(super) u64);

impl Picoseconds {
    /// Converts nanoseconds; saturates.
    pub(super) const fn of_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(1000))
    }

    /// Duration of a frame of `bytes` at `rate_bps`.
    pub(super) fn of_bytes(bytes: u32, rate_bps: u64) -> Self {
        Self(u64::from(bytes).saturating_mul(8_000_000_000_000) / rate_bps.max(1))
    }

    /// Whole nanoseconds.
    pub(super) const fn virtual_time(self) -> VirtualTime {
        VirtualTime(self.0 / 1000)
    }

    pub(super) const fn after(self, duration: Self) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    pub(super) const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<VirtualTime> for Picoseconds {
    fn from(time: VirtualTime) -> Self {
        Self::of_nanoseconds(time.0)
    }
}
