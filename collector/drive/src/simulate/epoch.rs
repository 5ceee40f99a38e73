//! Virtual time, as captures and truth files show it.

use super::time::VirtualTime;

/// Start of every simulation: 1 January 2026, 0:00 UTC, in nanoseconds since 1970.
pub const ORIGIN_NS: u64 = 1_767_225_600_000_000_000;

/// Nanoseconds since 1970.
#[must_use]
pub const fn epoch_ns(time: VirtualTime) -> u64 {
    ORIGIN_NS.saturating_add(time.0)
}

/// The local time so many seconds later, as logs and RAS write it; the month has 31 days.
#[must_use]
pub fn local_time(time: VirtualTime, later_s: u64) -> String {
    let seconds = time.0 / 1_000_000_000 + later_s;
    let (day, hour) = (seconds / 86_400 + 1, seconds / 3_600 % 24);
    format!("2026-01-{day:02} {hour:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60)
}
