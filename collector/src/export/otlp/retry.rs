//! When to send again: tower's exponential backoff with jitter, unless the receiver names a delay.
//!
//! tower's retry layer around the whole request does not fit: it ignores the delay that a receiver
//! requests (`Retry-After`, `RetryInfo`), and a delay has to end early when the agent stops.

use std::time::Duration;

use tokio::time::{self, Sleep};
use tower::retry::backoff::{
    Backoff as _, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff as _,
};
use tower::util::rng::HasherRng;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// Random part of a delay, as a share of it, so that many senders do not retry at once.
const JITTER: f64 = 1.0;
/// Longest delay, even if a receiver requests more.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// Delays of one batch.
#[derive(Debug)]
pub(super) struct Backoff(ExponentialBackoff);

impl Default for Backoff {
    fn default() -> Self {
        let maker = ExponentialBackoffMaker::new(FIRST, LONGEST, JITTER, HasherRng::default());
        // tower refuses only contradictory bounds.
        Self(maker.unwrap_or_default().make_backoff())
    }
}

impl Backoff {
    /// The delay before the next attempt; `asked` is the receiver's request.
    pub(super) fn delay(&mut self, asked: Option<Duration>) -> Sleep {
        let delay = self.0.next_backoff();
        asked.map_or(delay, |asked| time::sleep(asked.min(LONGEST_ASKED)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime;
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn delays_grow_to_their_bound() {
        let runtime = runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut backoff = Backoff::default();
            let begin = Instant::now();
            let mut delay = |asked| backoff.delay(asked).deadline() - begin;
            let mut shortest = FIRST;
            for _ in 0..40 {
                let delay = delay(None);
                let longest = (shortest * 2).min(LONGEST) + Duration::from_secs(1);
                assert!(delay >= shortest && delay <= longest, "{delay:?} from {shortest:?}");
                shortest = (shortest * 2).min(LONGEST);
            }
            let asked = Duration::from_secs(7);
            assert!(delay(Some(asked)) - asked < Duration::from_secs(1));
            assert!(delay(Some(Duration::MAX)) - LONGEST_ASKED < Duration::from_secs(1));
        });
    }
}
