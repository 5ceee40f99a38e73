//! A point in time: nanoseconds since the Unix epoch, as the capture wrote it.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds; reaches the year 2554.
///
/// Stored plus one, so that an optional time is as small as a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(NonZeroU64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self::from_nanos(0);
    /// The last representable time.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// A time from nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Nanoseconds from `earlier` to `self`; 0 if `earlier` is not earlier.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.get().saturating_sub(earlier.0.get())
    }

    /// Nanoseconds from `origin` to `self`; negative if `self` is earlier. Saturates at 292 years.
    #[must_use]
    pub const fn relative_to(self, origin: Self) -> i64 {
        0_i64
            .saturating_add_unsigned(self.nanos_since(origin))
            .saturating_sub_unsigned(origin.nanos_since(self))
    }

    /// `self` plus `nanos`; saturates at [`Timestamp::MAX`].
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// `self` plus `nanos`, which may be negative; saturates at both ends.
    #[must_use]
    pub const fn plus(self, nanos: i64) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add_signed(nanos))
    }
}

impl Default for Timestamp {
    fn default() -> Self {
        Self::EPOCH
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({self})")
    }
}

/// First and last time of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// When it was first seen.
    pub first: Timestamp,
    /// When it was last seen.
    pub last: Timestamp,
}

impl Span {
    /// Nanoseconds from the first to the last.
    #[must_use]
    pub const fn length_ns(self) -> u64 {
        self.last.nanos_since(self.first)
    }

    /// Whether both have a time in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The time half way between both ends.
    #[must_use]
    pub const fn middle(self) -> Timestamp {
        self.first.plus_nanos(self.last.nanos_since(self.first) / 2)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        write!(f, "{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}
