//! How often clients are served: whoever asks all the time costs a bounded share of a CPU.

use std::time::{Duration, Instant};

/// Something that may happen so often in a second, and so often at once.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: f64,
    most: f64,
    left: f64,
    latest: Instant,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, most: per_second, left: per_second, latest: now() }
    }

    /// Counts one more; returns how long to wait before it.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        let now = now();
        let due = now.duration_since(self.latest).as_secs_f64() * self.per_second;
        self.latest = now;
        self.left = (self.left + due).min(self.most) - 1.0;
        (self.left < 0.0).then(|| Duration::from_secs_f64(-self.left / self.per_second))
    }

    /// Whether one more is in time; one that is not does not count.
    pub(super) fn admits(&mut self) -> bool {
        let is_late = self.wait().is_some();
        self.left += f64::from(u8::from(is_late));
        !is_late
    }
}

#[expect(clippy::disallowed_methods, reason = "clients are limited per time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_slowed_down() {
        let mut pace = Pace::new(100);
        assert!((0..100).all(|_| pace.admits()));
        assert!((0..1000).filter(|_| pace.admits()).count() < 50);
        let mut pace = Pace::new(100);
        assert!((0..100).all(|_| pace.wait().is_none()));
        let waits: Vec<f64> =
            (0..100).filter_map(|_| pace.wait()).map(|one| one.as_secs_f64()).collect();
        assert!(waits.last().is_some_and(|wait| (0.8..=1.0).contains(wait)), "{waits:?}");
    }
}
