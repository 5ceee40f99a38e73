//! The driver's clocks: one for deadlines, one for timestamps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{DriveError, Result};

/// Nanoseconds since 1970 of `CLOCK_REALTIME`, which is also the clock of packet captures.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the driver is live: it says when things happened")]
pub fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The monotonic clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the driver is live: it waits")]
pub fn now() -> Instant {
    Instant::now()
}

/// A point in time at which waiting ends.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    began: Instant,
    patience: Duration,
}

impl Deadline {
    /// A deadline `patience` from now.
    #[must_use]
    pub fn after(patience: Duration) -> Self {
        Self { began: now(), patience }
    }

    /// Time left.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.patience.saturating_sub(self.began.elapsed())
    }

    /// # Errors
    /// [`DriveError::Late`] once the deadline has passed; `what` names what was expected.
    pub fn check(&self, what: impl FnOnce() -> String) -> Result<()> {
        if self.left().is_zero() {
            return Err(DriveError::Late { what: what(), waited: self.patience });
        }
        Ok(())
    }
}
