//! Time inside the network: a byte takes 20 ps at 400 Gb/s, so nanoseconds would add up to errors.

use crate::drive::simulate::time::VirtualTime;

/// Picoseconds since the simulation began, or between two times: 213 days fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Picoseconds(pub(super) u64);

impl Picoseconds {
    /// The same; the last picosecond if it is too long.
    pub(super) const fn of_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(1000))
    }

    /// Whole nanoseconds.
    pub(super) const fn virtual_time(self) -> VirtualTime {
        VirtualTime(self.0 / 1000)
    }
}

impl From<VirtualTime> for Picoseconds {
    fn from(time: VirtualTime) -> Self {
        Self::of_nanoseconds(time.0)
    }
}
