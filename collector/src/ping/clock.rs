//! The monotonic clock: everything here waits until a point in time.

use std::time::{Duration, Instant};

/// Now.
#[expect(clippy::disallowed_methods, reason = "it measures, and waits for other hosts")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Time left until `deadline`.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(now())
}
