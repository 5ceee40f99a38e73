//! The ring's header, in words of 64 bits, and its table of communicators.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::LANES;
use crate::count::{self, REASONS};
use crate::host::{self, HOST};

/// First bytes of rings and of files.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"RAILPROF");
/// Version of the format, shared by rings and files.
pub(crate) const VERSION: u64 = 1;

/// Words of the header.
const HEADER: usize = 512;
/// Words of an entry of the table of communicators.
const ENTRY: usize = 16;
/// Communicators in the table.
const ENTRIES: usize = 256;
/// First word of the lanes.
pub(crate) const LANES_AT: usize = HEADER + ENTRY * ENTRIES;

// Places of words within the header.
const FORM: usize = 1;
const PROCESS: usize = 2;
const MONOTONIC: usize = 3;
const REALTIME: usize = 4;
const SHAPE: usize = 5;
const TABLE: usize = 6;
const NAME: usize = 8;
const WANTED: usize = 16;
const LEASE: usize = 17;
const MASK: usize = 18;
const BASE: usize = 19;
const LOST: usize = 24;
/// Words of each lane: `reserved`, `head`, records.
pub(super) const CONTROL: usize = 64;
pub(super) const CONTROLS: usize = 8;

/// What the agent asks for, until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) mask: u64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) until: u64,
}

/// The header of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Header<'a> {
    pub(super) fn new(words: &'a [AtomicU64]) -> Self {
        Self { words }
    }

    fn set(self, place: usize, value: u64) {
        if let Some(word) = self.words.get(place) {
            word.store(value, Relaxed);
        }
    }

    fn get(self, place: usize) -> u64 {
        self.words.get(place).map_or(0, |word| word.load(Relaxed))
    }

    /// Writes what does not change. The magic comes last: until then it is no ring.
    pub(super) fn begin(self, lane: usize) {
        for (place, value) in (0..).zip(fixed(lane)).skip(1) {
            self.set(place, value);
        }
        if let Some(word) = self.words.first() {
            word.store(MAGIC, Release);
        }
    }

    /// What the agent asks for. It writes the mask before the deadline.
    pub(crate) fn lease(self) -> Lease {
        let until = self.words.get(LEASE).map_or(0, |word| word.load(Acquire));
        Lease { mask: self.get(WANTED), until }
    }

    /// Shows the mask that NCCL has, the one without a lease, and what was lost.
    pub(crate) fn show(self, mask: u64, base: u64) {
        self.set(MASK, mask);
        self.set(BASE, base);
        for (place, lost) in (LOST..).zip(count::all()) {
            self.set(place, lost);
        }
    }

    /// Records written into a lane.
    pub(crate) fn records(self, lane: usize) -> u64 {
        self.get(CONTROL + lane * CONTROLS + 2)
    }

    /// Writes an entry of the table; the number comes last.
    pub(crate) fn set_entry(self, place: usize, entry: &Entry) {
        if place >= ENTRIES {
            return;
        }
        let at = HEADER + place * ENTRY;
        self.set(at, 0);
        for (word, value) in (at..).zip(entry.words()).skip(1) {
            self.set(word, value);
        }
        if let Some(word) = self.words.get(at) {
            word.store(u64::from(entry.number), Release);
        }
    }
}

/// The first 16 words of rings and files.
pub(crate) fn fixed(lane: usize) -> [u64; 16] {
    let mut words = [0; 16];
    let size = |value: usize| u64::try_from(value).unwrap_or(0);
    let values = [
        (0, MAGIC),
        (FORM, VERSION | size(HEADER) << 32),
        (PROCESS, u64::from(host::pid())),
        (MONOTONIC, host::monotonic()),
        (REALTIME, host::realtime()),
        (SHAPE, size(if lane == 0 { 0 } else { LANES }) | size(lane) << 32),
        (TABLE, size(ENTRIES) | size(ENTRY) << 32),
    ];
    let names = host::name();
    let names = names.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    for (place, value) in values.into_iter().chain((NAME..).zip(names)) {
        if let Some(word) = words.get_mut(place) {
            *word = value;
        }
    }
    words
}

const _: () = assert!(NAME + HOST / 8 == 16 && LOST + REASONS <= CONTROL);
const _: () = assert!(CONTROL + LANES * CONTROLS <= HEADER);

/// Bytes of a communicator's name.
pub(crate) const COMM_NAME: usize = 64;

/// A communicator as table and file have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Counts the communicators of the process, from 1.
    pub(crate) number: u32,
    /// `None` if NCCL has not said it.
    pub(crate) hash: Option<u64>,
    pub(crate) rank: Option<u32>,
    pub(crate) ranks: Option<u32>,
    pub(crate) nodes: Option<u32>,
    /// Version of the interface.
    pub(crate) version: u8,
    /// Whether it was finalized.
    pub(crate) is_over: bool,
    /// `CLOCK_MONOTONIC` at its begin.
    pub(crate) since: u64,
    pub(crate) name: [u8; COMM_NAME],
}

impl Entry {
    /// The entry as words. What is not known is all ones; the hash has a flag.
    pub(crate) fn words(&self) -> [u64; ENTRY] {
        let known = |value: Option<u32>| u64::from(value.unwrap_or(u32::MAX));
        let flags = u64::from(self.hash.is_some()) | u64::from(self.is_over) << 1;
        let mut words = [0; ENTRY];
        let head = [
            u64::from(self.number),
            self.hash.unwrap_or(0),
            known(self.rank) | known(self.ranks) << 32,
            known(self.nodes) | u64::from(self.version) << 32 | flags << 40,
            self.since,
        ];
        let name = self.name.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        for (word, value) in words.iter_mut().zip(head.into_iter().chain(name)) {
            *word = value;
        }
        words
    }
}
