//! What was not recorded, by reason. The ring's header shows the counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Loss {
    /// Records: every lane was taken.
    Lane = 0,
    /// Collectives: no slot was free.
    Collective = 1,
    /// Operations, and channels of kernels: no slot was free.
    Operation = 2,
    /// Transfers that another one displaced before they ended.
    Displaced = 3,
    /// Transfers of an operation, and kernels of a collective, that is not recorded.
    Orphan = 4,
    /// Handles that name nothing in use.
    Stale = 5,
    /// Communicators without a place in the table.
    Communicator = 6,
    /// Faults of the plugin itself, after which it records nothing.
    Fault = 7,
}

/// Reasons.
pub(crate) const REASONS: usize = 8;

static LOST: [AtomicU64; REASONS] = [const { AtomicU64::new(0) }; REASONS];

/// Counts one.
pub(crate) fn lost(loss: Loss) {
    if let Some(count) = LOST.get(loss as usize) {
        count.fetch_add(1, Relaxed);
    }
}

/// All counts, by the number of the reason.
pub(crate) fn all() -> [u64; REASONS] {
    std::array::from_fn(|reason| LOST.get(reason).map_or(0, |count| count.load(Relaxed)))
}
