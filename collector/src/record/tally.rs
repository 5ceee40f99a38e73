//! What a recording has counted so far: its threads add, the status line and the end read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use railscope_core::model::time::Timestamp;

/// Notices kept until someone reads them.
const NOTICES: usize = 64;

/// Counters of a recording.
#[derive(Debug, Default)]
pub struct Tally {
    /// Frames that were captured.
    pub frames: Counter,
    /// Their bytes on the wire.
    pub wire_bytes: Counter,
    /// Frames that the filter left out.
    pub filtered: Counter,
    /// Frames that the kernel dropped for a full ring.
    pub kernel_lost: Counter,
    /// Frames that the recorder dropped, because the disk was slower or full.
    pub queue_lost: Counter,
    /// Frames that the analysis missed, because it was slower; they are recorded.
    pub unanalysed: Counter,
    /// Failed writes to the ring.
    pub write_errors: Counter,
    /// Bytes on disk: of the ring, or of the file.
    pub disk_bytes: Counter,
    /// Time of the oldest frame in the ring, 0 without one.
    pub oldest_ns: Counter,
    /// Time of the newest frame in the ring, 0 without one.
    pub newest_ns: Counter,
    /// Segments removed before they were as old as asked, because the ring was full.
    pub crowded_out: Counter,
    notices: Mutex<Vec<String>>,
    is_quiet: AtomicBool,
    /// When it was last so, 0 if never.
    quiet_ns: AtomicU64,
}

/// A number that threads share.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Its value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Tally {
    /// What the user should know, since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether all frames that had passed were handed over a moment ago, and all interfaces are up.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet.load(Ordering::Relaxed)
    }

    pub(super) fn set_quiet(&self, is_quiet: bool) {
        self.is_quiet.store(is_quiet, Ordering::Relaxed);
        if is_quiet {
            self.quiet_ns.store(super::now().as_nanos(), Ordering::Relaxed);
        }
    }

    /// Until when it is known that no frame passed beside those that were handed over.
    pub(super) fn quiet_until(&self) -> Timestamp {
        Timestamp::from_nanos(self.quiet_ns.load(Ordering::Relaxed))
    }

    pub(super) fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < NOTICES {
            notices.push(text);
        }
    }

    /// Frames that are in no file although they were on the wire.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.kernel_lost.get() + self.queue_lost.get()
    }

    /// Nanoseconds from the oldest frame in the ring to the newest.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.newest_ns.get().saturating_sub(self.oldest_ns.get())
    }
}
