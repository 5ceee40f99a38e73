//! Waiting for other programs.

use std::time::Duration;

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
