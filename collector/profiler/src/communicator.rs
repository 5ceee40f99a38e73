//! Communicators of this process: NCCL's `ctx` is a handle of one.

use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::count::{Loss, lost};
use crate::handle::{Handle, Kind};
use crate::ring::{self, Entry};

/// Communicators at a time.
const SLOTS: usize = 1024;

/// Places of the ring's table.
const SHOWN: usize = 256;

/// Slot of a communicator that found none.
const NOWHERE: u16 = u16::MAX;

/// The number of the communicator in each slot, 0 if there is none.
static NUMBERS: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];

/// Whether its hash is known: versions 1 to 3 give it with the first collective.
static IS_KNOWN: [AtomicBool; SLOTS] = [const { AtomicBool::new(false) }; SLOTS];

static TABLE: Mutex<Table> =
    Mutex::new(Table { entries: Vec::new(), live: 0, last: 0, changed: Vec::new() });

/// What only beginnings and ends need.
#[derive(Debug)]
pub(crate) struct Table {
    entries: Vec<Option<Entry>>,
    /// Communicators that have begun and not ended.
    live: usize,
    /// Communicators that have begun.
    last: u32,
    /// Entries that a file has not got yet.
    changed: Vec<Entry>,
}

/// Changed entries that are kept while no file takes them.
const CHANGED: usize = 4096;

pub(crate) fn lock() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Adds a communicator; its handle is never 0.
    pub(crate) fn begin(&mut self, entry: Entry) -> u64 {
        self.live += 1;
        self.last += 1;
        let entry = Entry { number: self.last, ..entry };
        self.entries.resize(SLOTS, None);
        // Slots go round, so that an ended communicator stays in the ring's table for a while.
        let first = usize::try_from(self.last - 1).unwrap_or(0);
        let is_free =
            |slot: &usize| NUMBERS.get(*slot).is_some_and(|number| number.load(Relaxed) == 0);
        let slots = || (0..SHOWN).map(|turn| (first + turn) % SHOWN).chain(SHOWN..SLOTS);
        let slot = slots().find(is_free);
        if slot.is_none_or(|slot| slot >= SHOWN) {
            lost(Loss::Communicator);
        }
        let handle = Handle {
            kind: Kind::Communicator,
            place: 0,
            slot: slot.and_then(|slot| u16::try_from(slot).ok()).unwrap_or(NOWHERE),
            generation: self.last,
        };
        if let Some(slot) = slot {
            if let (Some(number), Some(is_known)) = (NUMBERS.get(slot), IS_KNOWN.get(slot)) {
                is_known.store(entry.hash.is_some(), Relaxed);
                number.store(entry.number, Release);
            }
            self.write(slot, entry);
        }
        handle.pack()
    }

    /// Ends a communicator. Returns its number, `None` if the handle is of none.
    pub(crate) fn end(&mut self, handle: u64) -> Option<u32> {
        let handle = Handle::of(handle, Kind::Communicator)?;
        if handle.slot != NOWHERE {
            let slot = usize::from(handle.slot);
            let number = NUMBERS.get(slot)?;
            number.compare_exchange(handle.generation, 0, Acquire, Relaxed).ok()?;
            if let Some(entry) = self.entries.get_mut(slot).and_then(Option::take) {
                self.write(slot, Entry { is_over: true, ..entry });
            }
        }
        self.live = self.live.saturating_sub(1);
        Some(handle.generation)
    }

    /// Whether no communicator is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Entries that changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.changed)
    }

    /// Entries of communicators that have not ended, for a new file.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten().filter(|entry| !entry.is_over)
    }

    /// Gives all memory back, before the library is unloaded.
    pub(crate) fn clear(&mut self) {
        self.entries = Vec::new();
        self.changed = Vec::new();
    }

    /// Puts an entry into the table, the ring's table, and the next block of the file.
    fn write(&mut self, slot: usize, entry: Entry) {
        if let Some(ring) = &*ring::lock() {
            ring.header().set_entry(slot, &entry);
        }
        if self.changed.len() < CHANGED {
            self.changed.push(entry.clone());
        }
        if let Some(place) = self.entries.get_mut(slot) {
            *place = Some(entry);
        }
    }
}

/// The number of the communicator with this handle, 0 if there is none.
pub(crate) fn number(handle: u64) -> u32 {
    slot_of(handle).map_or(0, |(_, number)| number)
}

fn slot_of(handle: u64) -> Option<(usize, u32)> {
    let handle = Handle::of(handle, Kind::Communicator)?;
    let slot = usize::from(handle.slot);
    let number = NUMBERS.get(slot)?.load(Acquire);
    (number == handle.generation).then_some((slot, number))
}

/// Notes the identity that versions 1 to 3 give with a collective.
pub(crate) fn learn(handle: u64, hash: u64, rank: i32) {
    let Some((slot, _)) = slot_of(handle) else { return };
    let Some(is_known) = IS_KNOWN.get(slot) else { return };
    // A shim gives 0.
    if hash == 0 || is_known.swap(true, Relaxed) {
        return;
    }
    let mut table = lock();
    if let Some(entry) = table.entries.get_mut(slot).and_then(Option::take) {
        table.write(slot, Entry { hash: Some(hash), rank: u32::try_from(rank).ok(), ..entry });
    }
}
