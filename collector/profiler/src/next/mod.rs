//! A second plugin behind this one: NCCL loads only one, so calls go on from here.
//!
//! Each event has a slot with both handles, ours and the other's. A slot is not freed when its event
//! stops, because children begin later: it is used again after all others were.

mod sys;

pub(crate) use sys::{Started, begin, change, end, load, start, stop, unload};

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::abi::bit;
use crate::event::{Event, Operation};
use crate::handle::{Handle, Kind};

/// Whether there is a second plugin.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// The mask that the second plugin asked for: it gets this instead of NCCL's.
static MASK: AtomicI32 = AtomicI32::new(0);

/// Whether calls go on to a second plugin.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Events that the second plugin asked for.
pub(crate) fn mask() -> u64 {
    if is_on() { u64::from(MASK.load(Relaxed).cast_unsigned()) } else { 0 }
}

/// What an event belongs to, one kind a line: NCCL starts those, too.
const PARENTS: &[(u64, u64)] = &[
    (bit::KERNEL_PHASE, bit::KERNEL_CH),
    (bit::NET_PLUGIN, bit::PROXY_STEP),
    (bit::PROXY_STEP, bit::PROXY_OP),
    (bit::PROXY_OP | bit::KERNEL_CH, bit::COLL | bit::P2P),
    (bit::CE_SYNC | bit::CE_BATCH, bit::CE_COLL),
    (bit::COLL, bit::GROUP | bit::COLL_API),
    (bit::P2P, bit::GROUP | bit::P2P_API),
    (bit::CE_COLL, bit::COLL_API),
    (bit::COLL_API | bit::P2P_API | bit::KERNEL_LAUNCH, bit::GROUP_API),
];

/// Whether events of a kind are the second plugin's, by its mask.
fn is_wanted(kind: u64, mask: u64) -> bool {
    let whole = PARENTS.iter().fold(
        mask,
        |mask, (children, parents)| {
            if mask & children != 0 { mask | parents } else { mask }
        },
    );
    whole & kind != 0
}

/// Slots of events.
const SLOTS: usize = 32_768;

/// Slots that are looked at before an event is not passed on.
const TRIES: u32 = 256;

/// Handles of an event.
struct Pair {
    generation: AtomicU32,
    is_live: AtomicBool,
    ours: AtomicU64,
    /// An address of the second plugin's, as a number; 0 if it has none.
    theirs: AtomicU64,
}

static PAIRS: [Pair; SLOTS] = [const {
    Pair {
        generation: AtomicU32::new(0),
        is_live: AtomicBool::new(false),
        ours: AtomicU64::new(0),
        theirs: AtomicU64::new(0),
    }
}; SLOTS];

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Keeps both handles. Returns the one for NCCL, 0 if both are 0; `None` if there is no slot.
fn keep(ours: u64, theirs: u64) -> Option<u64> {
    if ours == 0 && theirs == 0 {
        return Some(0);
    }
    for _ in 0..TRIES {
        let at = usize::try_from(NEXT.fetch_add(1, Relaxed)).ok()? % SLOTS;
        let pair = PAIRS.get(at)?;
        if pair.is_live.swap(true, AcqRel) {
            continue;
        }
        let generation = pair.generation.fetch_add(1, AcqRel).wrapping_add(1);
        pair.ours.store(ours, Relaxed);
        pair.theirs.store(theirs, Release);
        let slot = u16::try_from(at).ok()?;
        return Some(Handle { kind: Kind::Pair, place: 0, slot, generation }.pack());
    }
    None
}

/// The slot of a handle of NCCL's.
fn pair(handle: u64) -> Option<&'static Pair> {
    let handle = Handle::of(handle, Kind::Pair)?;
    let pair = PAIRS.get(usize::from(handle.slot))?;
    (pair.generation.load(Acquire) == handle.generation).then_some(pair)
}

/// Our handle behind one of NCCL's.
fn ours(handle: u64) -> u64 {
    pair(handle).map_or(0, |pair| pair.ours.load(Relaxed))
}

/// Their handle behind one of NCCL's, 0 if there is none.
fn theirs(handle: u64) -> u64 {
    pair(handle).map_or(0, |pair| pair.theirs.load(Acquire))
}

/// An event with our handle of its parent in the place of NCCL's.
pub(crate) fn own(event: Event) -> Event {
    match event {
        Event::Transfer { parent, number } => Event::Transfer { parent: ours(parent), number },
        // A parent of another process stays as it is.
        Event::Operation(of) => {
            let parent = match pair(of.parent) {
                Some(pair) => pair.ours.load(Relaxed),
                None => of.parent,
            };
            Event::Operation(Operation { parent, ..of })
        }
        event => event,
    }
}

/// Forgets all events.
fn forget() {
    for pair in &PAIRS {
        if pair.is_live.swap(false, AcqRel) {
            pair.generation.fetch_add(1, AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_of_what_is_wanted_are_wanted() {
        assert!(is_wanted(bit::GROUP_API, bit::PROXY_STEP));
        assert!(is_wanted(bit::COLL, bit::KERNEL_PHASE));
        assert!(!is_wanted(bit::PROXY_STEP, bit::COLL));
        assert!(!is_wanted(bit::KERNEL_LAUNCH, bit::PROXY_STEP));
    }

    #[test]
    fn a_handle_leads_to_both() {
        let handle = keep(7, 9).unwrap_or(0);
        assert_eq!((ours(handle), theirs(handle)), (7, 9));
        assert_eq!(keep(0, 0), Some(0));
        assert_eq!((ours(1), theirs(handle ^ 1)), (0, 0));
    }
}
