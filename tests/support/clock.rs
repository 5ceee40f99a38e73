//! The one place where the suite reads a clock: waiting for other programs, and what that took.

use std::time::{Duration, Instant};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so; fails when that takes too long.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let (mut waited, between) = (Duration::ZERO, Duration::from_millis(50));
    while !is_so() {
        assert!(waited < PATIENCE, "not so in time: {what}");
        std::thread::sleep(between);
        waited += between;
    }
}

/// Now.
#[expect(clippy::disallowed_methods, reason = "what hangs is ended")]
pub fn now() -> Instant {
    Instant::now()
}

/// How long something takes.
pub fn duration_of(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    start.elapsed()
}
