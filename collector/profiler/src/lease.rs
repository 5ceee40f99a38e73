//! Which events NCCL is asked for: those of the settings, those of the second plugin, and, while a
//! lease runs, those that the agent wants.
//!
//! The lease has a deadline which this process keeps itself: if the agent dies, the mask falls back.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::host::{self, MaskWord};
use crate::ring::Lease;

/// Longest lease that is obeyed, from now: a deadline far away is a mistake.
const LONGEST: u64 = 600_000_000_000;

/// Events asked for without a lease.
static BASE: AtomicU64 = AtomicU64::new(0);
/// The mask that was written last.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Takes the mask of the settings. Returns the one to begin with.
pub(crate) fn begin(base: u64) {
    BASE.store(base, Relaxed);
    WRITTEN.store(base, Relaxed);
}

/// Writes the mask for another communicator: NCCL has one for all. A lease that runs goes on.
pub(crate) fn write(extra: u64) {
    MaskWord::set(WRITTEN.fetch_or(base() | extra, Relaxed) | base() | extra);
}

/// Events asked for without a lease.
pub(crate) fn base() -> u64 {
    BASE.load(Relaxed)
}

/// The mask while this lease is offered.
fn wanted(base: u64, lease: Lease, now: u64) -> u64 {
    let runs = lease.until > now && lease.until - now <= LONGEST;
    if runs { base | lease.mask } else { base }
}

/// Follows the lease. NCCL's mask is written only when the answer changes, and a mask that someone
/// else has written since, RAS for one, is left alone when a lease ends.
pub(crate) fn follow(lease: Lease, extra: u64) -> u64 {
    let wanted = wanted(base() | extra, lease, host::monotonic());
    let written = WRITTEN.swap(wanted, Relaxed);
    let now = MaskWord::get();
    if wanted != written {
        let is_ours = now == Some(written);
        let grows = wanted & !written != 0;
        if is_ours || grows {
            MaskWord::set(wanted);
        }
    }
    MaskWord::get().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_by_itself() {
        let lease = Lease { mask: 64, until: 1_000 };
        assert_eq!(wanted(6, lease, 999), 70);
        assert_eq!(wanted(6, lease, 1_000), 6);
        assert_eq!(wanted(6, Lease { mask: 64, until: u64::MAX }, 1_000), 6);
    }
}
