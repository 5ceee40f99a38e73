//! The only place where the suite reads a clock: to measure how long programs take.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "programs that hang are killed")]
pub fn now() -> Instant {
    Instant::now()
}

/// The duration of `work`.
pub fn duration_of(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    start.elapsed()
}
