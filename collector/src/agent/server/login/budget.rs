//! CPU time for passwords that were not seen before.

use std::time::{Duration, Instant};

/// Of a core.
const SHARE: f64 = 0.1;

/// Most that is saved up: some clients may come at once.
const MOST: Duration = Duration::from_secs(1);

/// CPU time that is left, in seconds; negative after a try that took more.
#[derive(Debug)]
pub(super) struct Budget {
    left: f64,
    latest: Instant,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MOST.as_secs_f64(), latest: now() }
    }
}

impl Budget {
    /// How long to wait before the next try.
    pub(super) fn pause(&mut self) -> Duration {
        self.pause_at(now())
    }

    /// A try took so long.
    pub(super) fn spend(&mut self, took: Duration) {
        self.left -= took.as_secs_f64();
    }

    fn pause_at(&mut self, now: Instant) -> Duration {
        let due = now.duration_since(self.latest).as_secs_f64() * SHARE;
        self.latest = now;
        self.left = (self.left + due).min(MOST.as_secs_f64());
        Duration::from_secs_f64((-self.left / SHARE).max(0.0))
    }
}

#[expect(clippy::disallowed_methods, reason = "a share of time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_get_a_tenth_of_a_core() {
        let mut budget = Budget::default();
        let (begun, took) = (budget.latest, Duration::from_millis(100));
        let (mut now, mut tries) = (begun, 0);
        while now.duration_since(begun) < Duration::from_secs(100) {
            now += budget.pause_at(now) + took;
            budget.spend(took);
            tries += 1;
        }
        assert!((105..=125).contains(&tries), "{tries} of 0.1 s in 100 s, after 1 s at once");
    }
}
