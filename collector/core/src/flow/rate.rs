//! A sender's rate before and after a CNP: does it slow down?

use serde::{Deserialize, Serialize};

use crate::model::time::Timestamp;

/// Width of the window on each side of a CNP.
pub const WINDOW_NS: u64 = 1_000_000;

/// Bytes sent by one flow in a sliding window, and their change at CNPs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RateMeter {
    bucket_start: u64,
    bucket_bytes: u64,
    previous_bytes: u64,
    total_bytes: u64,
    /// Created with the first CNP.
    notified: Option<Box<Notified>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Notified {
    pending: Option<PendingReaction>,
    reactions: Reactions,
}

/// Measurements around CNPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reactions {
    /// CNPs with traffic on both sides; CNPs closer than the window count once.
    pub samples: u64,
    /// CNPs after which the rate was lower.
    pub slowed: u64,
    /// Bytes in the windows before, in total.
    pub bytes_before: u64,
    /// Bytes in the windows after, in total.
    pub bytes_after: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct PendingReaction {
    time: Timestamp,
    bytes_before: u64,
    total_at_cnp: u64,
}

impl RateMeter {
    /// The flow sent `bytes` (with FCS, preamble and gap) at `time`.
    #[inline]
    pub fn sent(&mut self, time: Timestamp, bytes: u64) {
        if let Some(notified) = &mut self.notified {
            notified.sent(time, self.total_bytes);
        }
        // A clock that went back appears far ahead on the circle and also starts a window.
        let elapsed = time.as_nanos().wrapping_sub(self.bucket_start);
        if elapsed >= WINDOW_NS {
            self.previous_bytes = if elapsed < 2 * WINDOW_NS { self.bucket_bytes } else { 0 };
            self.bucket_start = time.as_nanos().saturating_sub(elapsed % WINDOW_NS);
            self.bucket_bytes = 0;
        }
        self.bucket_bytes += bytes;
        self.total_bytes += bytes;
    }

    /// A CNP for this flow's sender passed at `time`.
    pub fn notified(&mut self, time: Timestamp) {
        let elapsed = time.as_nanos().saturating_sub(self.bucket_start);
        // The part of a bucket still inside the window before the CNP.
        let covered = |bytes: u64, since_its_end: u64| {
            let part = u128::from(WINDOW_NS.saturating_sub(since_its_end));
            (u128::from(bytes) * part / u128::from(WINDOW_NS)) as u64
        };
        let since_bucket = elapsed.saturating_sub(WINDOW_NS);
        let bytes_before =
            covered(self.previous_bytes, elapsed) + covered(self.bucket_bytes, since_bucket);
        let total_at_cnp = self.total_bytes;
        let notified = self.notified.get_or_insert_default();
        notified.pending.get_or_insert(PendingReaction { time, bytes_before, total_at_cnp });
    }

    /// Measurements so far.
    #[must_use]
    pub fn reactions(&self) -> Reactions {
        self.notified.as_ref().map(|notified| notified.reactions).unwrap_or_default()
    }
}

impl Notified {
    /// The flow sends again at `time`, after `total_bytes`: completes a CNP whose window has
    /// passed.
    fn sent(&mut self, time: Timestamp, total_bytes: u64) {
        let is_over = |pending: &mut PendingReaction| time.nanos_since(pending.time) >= WINDOW_NS;
        let Some(pending) = self.pending.take_if(is_over) else { return };
        if pending.bytes_before == 0 {
            return;
        }
        let bytes_after = total_bytes - pending.total_at_cnp;
        self.reactions.samples += 1;
        self.reactions.slowed += u64::from(bytes_after < pending.bytes_before);
        self.reactions.bytes_before += pending.bytes_before;
        self.reactions.bytes_after += bytes_after;
    }
}
