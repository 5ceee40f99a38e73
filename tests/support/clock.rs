//! The only place where the suite reads a clock: to wait for other programs, and to measure how
//! long they take.

use std::time::{Duration, Instant};

/// Longest time that anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `is_so` holds; fails if that takes too long.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let (mut waited, between) = (Duration::ZERO, Duration::from_millis(50));
    while !is_so() {
        assert!(waited < PATIENCE, "timeout, still waiting until {what}");
        std::thread::sleep(between);
        waited += between;
    }
}

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
