//! Virtual time: what the simulation has instead of a clock.

use std::fmt;

/// Nanoseconds since the simulation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualTime(pub u64);

impl VirtualTime {
    /// When the simulation begins.
    pub const START: Self = Self(0);

    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// This much later; never past [`VirtualTime::NEVER`].
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Nanoseconds from `earlier` until this; 0 when this is not later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for VirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// From `from` until just before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first nanosecond.
    pub from: VirtualTime,
    /// The first nanosecond after it.
    pub until: VirtualTime,
}

impl Span {
    /// The whole simulation.
    pub const ALWAYS: Self = Self { from: VirtualTime::START, until: VirtualTime::NEVER };
}
