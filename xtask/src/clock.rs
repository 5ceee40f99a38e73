//! The only clock of xtask.

use std::time::{Duration, Instant};

/// The result of `work`, and how many seconds it took.
#[expect(clippy::disallowed_methods, reason = "chores report how long things take")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed().as_secs_f64())
}

/// Time since something began.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "chores report how long things take")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A deadline.
pub(crate) struct Deadline(Instant);

#[expect(clippy::disallowed_methods, reason = "what a chore waits for may never come")]
impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    pub(crate) fn has_passed(&self) -> bool {
        Instant::now() >= self.0
    }
}
