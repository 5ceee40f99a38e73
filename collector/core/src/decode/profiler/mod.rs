//! Rings and files of the profiler plugin that NCCL loads: where transfers of its proxies waited.
//!
//! `docs/PROFILER.md` describes the format; `collector/profiler` writes it. A process of a user wrote
//! what is read here, so every length is checked, and what makes no sense is counted and skipped.

mod communicator;
#[cfg(test)]
pub(crate) mod fixture;
mod header;
mod record;
mod ring;
mod stream;
mod tail;

pub use communicator::Communicator;
pub use header::{Header, NotProfiler};
pub use record::{
    Collective, Foreign, Function, Kernel, OpenTransfer, OperationEnd, OperationStart, Record,
    Transfer, Wait,
};
pub use ring::read_ring;
pub use stream::Stream;
pub use tail::{Copy, Tail, TailError};

/// Where a ring has the events that are asked for, in bytes.
pub const LEASE_EVENTS_AT: u64 = 16 * 8;
/// Where it has until when, in nanoseconds of the monotonic clock; to be written after the events.
pub const LEASE_UNTIL_AT: u64 = 17 * 8;

/// Reasons why something was not recorded, by the place of their count.
pub const LOSSES: [&str; 8] = [
    "records, because all lanes were taken",
    "collectives, because no slot was free",
    "operations, because no slot was free",
    "transfers, because another one took their place",
    "transfers of operations that were not recorded",
    "states and ends with unknown handles",
    "places in the table of communicators",
    "faults of the plugin",
];

/// What a ring or file holds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The process. It comes first, and once.
    Header(Header),
    /// A communicator, again when it changes.
    Communicator(Communicator),
    /// A record of a lane.
    Record(Record),
    /// Words of 64 bits that were overwritten before they were read.
    Overwritten(u64),
    /// Counts since the process began.
    Counts {
        /// Records that the ring got; `None` in a ring, where lanes count their own.
        records: u64,
        /// What was lost, by [`LOSSES`].
        lost: [u64; 8],
    },
    /// Words that are no record, or a block of no known kind.
    Damaged(u64),
}

/// A word at a place, 0 if there is none.
fn word(words: &[u64], place: usize) -> u64 {
    words.get(place).copied().unwrap_or(0)
}

/// The lower half of a word.
fn low(word: u64) -> u32 {
    (word & u64::from(u32::MAX)) as u32
}

/// The upper half of a word.
fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A byte of a word, counted from the lowest.
fn byte(word: u64, place: u32) -> u8 {
    word.to_le_bytes().get(place as usize).copied().unwrap_or(0)
}

/// The text of words that are padded with zeros.
fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
