//! The only clock of the chores.

use std::time::{Duration, Instant};

/// What `work` returned, and the seconds that passed.
#[expect(clippy::disallowed_methods, reason = "chores report how long things take")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed().as_secs_f64())
}

/// A point in time that waiting ends at.
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
