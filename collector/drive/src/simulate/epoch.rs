//! Virtual time, as captures and truth files show it.

use super::time::VirtualTime;

/// Start of every simulation: 1 January 2026, 0:00 UTC, in nanoseconds since 1970.
pub const ORIGIN_NS: u64 = 1_767_225_600_000_000_000;

/// Nanoseconds since 1970.
#[must_use]
pub const fn epoch_ns(time: VirtualTime) -> u64 {
    ORIGIN_NS.saturating_add(time.0)
}
