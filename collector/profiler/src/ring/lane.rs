//! Lanes: where records are written, and how they are read.

use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use super::header::{CONTROL, CONTROLS, LANES_AT};
use super::sys::slice;
use crate::count::{Loss, lost};
use crate::host;

/// Lanes of a ring.
pub(crate) const LANES: usize = 8;

/// Words that no record crosses.
const PAGE: u64 = 512;

/// Turns over all lanes before a record is given up.
const TURNS: usize = 8;

/// Which lanes are being written to. Alone on its cache line.
#[repr(align(128))]
struct Latch(AtomicBool);

static LATCHES: [Latch; LANES] = [const { Latch(AtomicBool::new(false)) }; LANES];

/// The ring's words, read only by who holds a latch, changed only by who holds all.
static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
static LANE: AtomicUsize = AtomicUsize::new(0);

fn words() -> &'static [AtomicU64] {
    slice(WORDS.load(Acquire), LENGTH.load(Relaxed))
}

fn take_all() {
    for latch in &LATCHES {
        while latch.0.swap(true, Acquire) {
            std::hint::spin_loop();
        }
    }
}

fn give_all() {
    for latch in &LATCHES {
        latch.0.store(false, Release);
    }
}

/// From now on, records go into this ring.
pub(super) fn attach(words: &[AtomicU64], lane: usize) {
    take_all();
    LENGTH.store(words.len(), Relaxed);
    LANE.store(lane, Relaxed);
    WORDS.store(words.as_ptr().cast_mut(), Release);
    give_all();
}

/// From now on, records go nowhere.
pub(super) fn detach() {
    take_all();
    WORDS.store(std::ptr::null_mut(), Release);
    LENGTH.store(0, Relaxed);
    give_all();
}

/// Writes a record into the first lane that is free. Never waits: if all are taken, it is counted.
pub(crate) fn push(record: &[u64]) {
    let first = host::thread_hint();
    for turn in 0..TURNS * LANES {
        let lane = first.wrapping_add(turn) % LANES;
        let Some(latch) = LATCHES.get(lane) else { return };
        if !latch.0.swap(true, Acquire) {
            write(words(), LANE.load(Relaxed), lane, record);
            latch.0.store(false, Release);
            return;
        }
    }
    lost(Loss::Lane);
}

fn write(words: &[AtomicU64], length: usize, lane: usize, record: &[u64]) {
    let control = CONTROL + lane * CONTROLS;
    let (Some([reserved, head, records]), Some(slots)) = (
        words.get(control..control + 3),
        words.get(LANES_AT + lane * length..LANES_AT + (lane + 1) * length),
    ) else {
        return;
    };
    // Lengths of lanes are powers of two.
    let mask = slots.len().wrapping_sub(1);
    let slot = |at: u64| slots.get(usize::try_from(at).unwrap_or(0) & mask);
    let size = u64::try_from(record.len()).unwrap_or(0);
    let mut at = head.load(Relaxed);
    let left = PAGE - at % PAGE;
    let skipped = if size > left { left } else { 0 };
    reserved.store(at + skipped + size, Relaxed);
    // Whoever sees a word that is written now also sees that it is reserved.
    fence(Release);
    if skipped > 0 {
        // A word of zeros: nothing more in this page.
        if let Some(word) = slot(at) {
            word.store(0, Relaxed);
        }
        at += skipped;
    }
    for (place, value) in (at..).zip(record) {
        if let Some(word) = slot(place) {
            word.store(*value, Relaxed);
        }
    }
    records.store(records.load(Relaxed) + 1, Relaxed);
    head.store(at + size, Release);
}

/// How far a lane has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Words read or skipped since the ring began.
    pub(crate) at: u64,
    /// Words that were overwritten before they were read.
    pub(crate) overwritten: u64,
}

/// Copies what a lane holds since `tail`, page by page, and gives `take` the words that are whole.
pub(super) fn drain(
    words: &[AtomicU64],
    length: usize,
    lane: usize,
    tail: &mut Tail,
    take: &mut dyn FnMut(&[u64]),
) {
    let control = CONTROL + lane * CONTROLS;
    let (Some([reserved, head]), Some(slots)) = (
        words.get(control..control + 2),
        words.get(LANES_AT + lane * length..LANES_AT + (lane + 1) * length),
    ) else {
        return;
    };
    let capacity = u64::try_from(slots.len()).unwrap_or(0);
    let mask = slots.len().wrapping_sub(1);
    let end = head.load(Acquire);
    let mut page = [0; PAGE as usize];
    while tail.at < end {
        let stop = end.min((tail.at / PAGE + 1) * PAGE);
        let copied = (tail.at..stop).zip(&mut page).map(|(at, word)| {
            let slot = slots.get(usize::try_from(at).unwrap_or(0) & mask);
            *word = slot.map_or(0, |slot| slot.load(Relaxed));
        });
        let count = copied.count();
        fence(Acquire);
        // Words before this have been overwritten, perhaps while they were copied.
        let whole = reserved.load(Relaxed).saturating_sub(capacity);
        if tail.at < whole {
            let next = whole.div_ceil(PAGE) * PAGE;
            tail.overwritten += next - tail.at;
            tail.at = next;
        } else {
            tail.at = stop;
            take(page.get(..count).unwrap_or_default());
        }
    }
}
