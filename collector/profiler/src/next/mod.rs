//! A second plugin behind this one: NCCL loads only one, so calls go on from here.
//!
//! Each event of both has a slot with both handles, ours and the other's. A slot is not freed when its
//! event stops, because children begin later: it is used again after all others were. Of an event that
//! is ours alone, NCCL has our handle.

mod sys;

pub(crate) use sys::{Started, begin, change, end, load, start, stop, unload};

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::abi::bit;
use crate::event::{Event, Kernel, Operation};
use crate::handle::{Handle, Kind};

/// Whether there is a second plugin.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// The mask that the second plugin asked for: it gets this instead of NCCL's.
static MASK: AtomicI32 = AtomicI32::new(0);

/// Events that the second plugin's version of the interface has: it gets no other.
static KNOWN: AtomicU64 = AtomicU64::new(u64::MAX);

/// The oldest version of a second plugin that can be called with descriptors of a version: since version 5, the
/// later ones only add events, and members behind those of the earlier ones. NCCL Inspector has version 5 in all
/// releases from 2.28 on.
const fn oldest(version: u8) -> u8 {
    if version > 5 { 5 } else { version }
}

/// Whether calls go on to a second plugin.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Events that the second plugin asked for.
pub(crate) fn mask() -> u64 {
    if !is_on() {
        return 0;
    }
    u64::from(MASK.load(Relaxed).cast_unsigned()) & KNOWN.load(Relaxed)
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

/// The slot of each of our transfers, by its operation and its place there.
static TRANSFERS: [AtomicU32; 1 << 16] = [const { AtomicU32::new(0) }; 1 << 16];

/// Where `TRANSFERS` has the slot of an event.
fn place_of(ours: u64) -> Option<&'static AtomicU32> {
    let handle = Handle::of(ours, Kind::Transfer)?;
    TRANSFERS.get(usize::from(handle.slot) << 3 | usize::from(handle.place & 7))
}

/// The slot of a transfer that has begun and not stopped: NCCL starts receives again while they wait to be posted,
/// and each time forgets the handle that it had.
fn begun(ours: u64) -> Option<(u16, &'static Pair)> {
    let at = place_of(ours)?.load(Relaxed);
    let pair = PAIRS.get(usize::try_from(at).ok()?)?;
    let is_it = pair.is_live.load(Acquire) && pair.ours.load(Relaxed) == ours;
    is_it.then_some((u16::try_from(at).ok()?, pair))
}

/// Keeps both handles. Returns the one for NCCL, 0 if both are 0; `None` if there is no slot.
fn keep(ours: u64, theirs: u64) -> Option<u64> {
    if theirs == 0 {
        return Some(ours);
    }
    if let Some((slot, pair)) = begun(ours) {
        pair.theirs.store(theirs, Release);
        let generation = pair.generation.load(Acquire);
        return Some(Handle { kind: Kind::Pair, place: 0, slot, generation }.pack());
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
        if let Some(place) = place_of(ours) {
            place.store(u32::from(slot), Relaxed);
        }
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

/// Our handle behind one of NCCL's; what is none of ours stays as it is.
fn ours(handle: u64) -> u64 {
    match Handle::of(handle, Kind::Pair) {
        Some(_) => pair(handle).map_or(0, |pair| pair.ours.load(Relaxed)),
        None => handle,
    }
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
        Event::Kernel(of) => Event::Kernel(Kernel { parent: ours(of.parent), ..of }),
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
    fn a_transfer_that_starts_again_keeps_its_slot() {
        let ours = Handle { kind: Kind::Transfer, place: 3, slot: 8191, generation: 1 }.pack();
        let first = keep(ours, 9).unwrap_or(0);
        assert_eq!(keep(ours, 11), Some(first));
        assert_eq!(theirs(first), 11);
        pair(first).unwrap().is_live.store(false, Release);
        assert_ne!(keep(ours, 13), Some(first));
    }

    #[test]
    fn a_handle_leads_to_both() {
        let handle = keep(7, 9).unwrap_or(0);
        assert_eq!((ours(handle), theirs(handle)), (7, 9));
        assert_eq!((ours(handle ^ 1), theirs(handle ^ 1)), (0, 0));
        assert_eq!((keep(0, 0), keep(7, 0)), (Some(0), Some(7)));
        assert_eq!((ours(7), theirs(7)), (7, 0));
    }
}
