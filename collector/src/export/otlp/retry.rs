//! When to send again: exponential delays with jitter, unless the receiver names one.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// However long a receiver asks to wait.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// Delays of one batch.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
    jitter: RandomState,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST, jitter: RandomState::new() }
    }
}

impl Backoff {
    /// How long to wait now; `asked` is what the receiver asks for.
    pub(super) fn delay(&mut self, asked: Option<Duration>) -> Duration {
        // Half to all of it, so that many senders do not come back at once.
        let share = self.jitter.hash_one(self.next) % 1000;
        let delay = self.next / 2 + self.next / 2 * u32::try_from(share).unwrap_or(0) / 1000;
        self.next = (self.next * 2).min(LONGEST);
        asked.map_or(delay, |asked| asked.min(LONGEST_ASKED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_bound() {
        let mut backoff = Backoff::default();
        let mut longest = FIRST;
        for _ in 0..20 {
            let delay = backoff.delay(None);
            assert!(delay >= longest / 2 && delay <= longest, "{delay:?} of {longest:?}");
            longest = (longest * 2).min(LONGEST);
        }
        let asked = Duration::from_secs(7);
        assert_eq!(backoff.delay(Some(asked)), asked);
        assert_eq!(backoff.delay(Some(Duration::MAX)), LONGEST_ASKED);
    }
}
