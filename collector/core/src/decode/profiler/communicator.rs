//! Communicators of a process.

use super::{high, low, text, word};

/// Words of an entry.
pub(super) const WORDS: usize = 16;

/// A communicator, as far as NCCL has described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Counts the communicators of the process, from 1.
    pub number: u32,
    /// `commId` of NCCL's log; `None` if it is not known.
    pub hash: Option<u64>,
    /// Rank of this process.
    pub rank: Option<u32>,
    /// Ranks of the communicator.
    pub ranks: Option<u32>,
    /// Hosts of the communicator.
    pub nodes: Option<u32>,
    /// Version of the profiler's interface that NCCL used.
    pub version: u8,
    /// Whether it was finalized.
    pub is_over: bool,
    /// Nanoseconds of the monotonic clock when it began.
    pub since_ns: u64,
    /// Its name; empty if it has none.
    pub name: String,
}

impl Communicator {
    /// Reads an entry, `None` if it is empty.
    pub(super) fn decode(words: &[u64]) -> Option<Self> {
        let number = low(word(words, 0));
        let known = |value: u32| (value != u32::MAX).then_some(value);
        let form = high(word(words, 3));
        let [version, flags, ..] = form.to_le_bytes();
        (number != 0).then(|| Self {
            number,
            hash: (flags & 1 != 0).then(|| word(words, 1)),
            rank: known(low(word(words, 2))),
            ranks: known(high(word(words, 2))),
            nodes: known(low(word(words, 3))),
            version,
            is_over: flags & 2 != 0,
            since_ns: word(words, 4),
            name: text(words.get(5..13).unwrap_or_default()),
        })
    }
}
