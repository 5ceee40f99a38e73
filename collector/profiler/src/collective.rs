//! Collectives that were enqueued, for the operations that refer to them.
//!
//! NCCL stops a collective as soon as it is enqueued, and its operations begin later. So a slot is
//! not freed: it is used again after all others were, unless operations still belong to it.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::count::{Loss, lost};
use crate::handle::{Handle, Kind};
use crate::record::Identity;

/// Collectives that are remembered.
const SLOTS: usize = 8192;

/// Slots that are looked at before a collective is given up.
const TRIES: u32 = 128;

struct Slot {
    /// Counts the uses; odd while its members are written.
    generation: AtomicU32,
    /// Operations that belong to it.
    children: AtomicU32,
    /// Communicator and number, in one word.
    who: AtomicU64,
    /// Sequence number and function, in one word.
    what: AtomicU64,
}

impl Slot {
    const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            children: AtomicU32::new(0),
            who: AtomicU64::new(0),
            what: AtomicU64::new(0),
        }
    }
}

static POOL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
static NEXT: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(0);

/// Remembers a collective. Returns its handle and its number; the handle is 0 if there is no room.
pub(crate) fn begin(comm: u32, sequence: u64, function: u8) -> (u64, Identity) {
    let collective = LAST.fetch_add(1, Relaxed).wrapping_add(1);
    let sequence = u32::try_from(sequence & u64::from(u32::MAX)).unwrap_or(0);
    let identity = Identity { comm, collective, sequence, function };
    for _ in 0..TRIES {
        let at = usize::try_from(NEXT.fetch_add(1, Relaxed)).unwrap_or(0) % SLOTS;
        let Some(slot) = POOL.get(at) else { break };
        if slot.children.load(Acquire) != 0 {
            continue;
        }
        let before = slot.generation.load(Relaxed);
        let (writing, ready) = (before.wrapping_add(1), before.wrapping_add(2));
        let is_free = before % 2 == 0;
        if !is_free || slot.generation.compare_exchange(before, writing, AcqRel, Relaxed).is_err() {
            continue;
        }
        slot.who.store(u64::from(comm) | u64::from(collective) << 32, Relaxed);
        slot.what.store(u64::from(sequence) | u64::from(function) << 32, Relaxed);
        slot.generation.store(ready, Release);
        let slot = u16::try_from(at).unwrap_or(0);
        let handle = Handle { kind: Kind::Collective, place: 0, slot, generation: ready };
        return (handle.pack(), identity);
    }
    lost(Loss::Collective);
    (0, identity)
}

/// The identity of a collective, which gets one operation more; `None` if it is not remembered.
pub(crate) fn adopt(handle: u64) -> Option<Identity> {
    let handle = Handle::of(handle, Kind::Collective)?;
    let slot = POOL.get(usize::from(handle.slot))?;
    slot.children.fetch_add(1, AcqRel);
    let (who, what) = (slot.who.load(Relaxed), slot.what.load(Relaxed));
    if slot.generation.load(Acquire) != handle.generation {
        slot.children.fetch_sub(1, Release);
        return None;
    }
    let [low, high] = [who, what].map(|word| (word & u64::from(u32::MAX)) as u32);
    Some(Identity {
        comm: low,
        collective: (who >> 32) as u32,
        sequence: high,
        function: (what >> 32) as u8,
    })
}

/// An operation of a collective is over.
pub(crate) fn release(handle: u64) {
    let slot =
        Handle::of(handle, Kind::Collective).and_then(|handle| POOL.get(usize::from(handle.slot)));
    if let Some(slot) = slot {
        slot.children.fetch_sub(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_with_operations_is_not_displaced() {
        let (kept, identity) = begin(3, 17, 5);
        let (lost, _) = begin(3, 18, 5);
        assert_eq!(adopt(kept), Some(identity));
        for sequence in 0..2 * SLOTS as u64 {
            assert_ne!(begin(4, sequence, 1).0, 0);
        }
        assert_eq!(adopt(lost), None);
        assert_eq!(adopt(kept), Some(identity));
        assert_eq!(adopt(kept ^ 1), None);
        release(kept);
        release(kept);
        for sequence in 0..2 * SLOTS as u64 {
            begin(4, sequence, 1);
        }
        assert_eq!(adopt(kept), None);
    }
}
