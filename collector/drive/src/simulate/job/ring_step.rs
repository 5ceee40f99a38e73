//! Chunks for the truth: the messages of one chunk at one end of a connection, summed up.

use crate::simulate::epoch::epoch_ns;
use crate::simulate::time::VirtualTime;
use crate::truth::{LinkRole, Part, RingStep};

/// What a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The collective.
    pub sequence: u64,
    /// Index of its chunk at this end in this collective.
    pub index: u32,
    /// Part of the collective.
    pub part: Part,
    /// Whether it is the last of its chunk.
    pub ends_chunk: bool,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub rank: u32,
    pub role: LinkRole,
    pub channel: u32,
}

/// A message that passed an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub stamp: Stamp,
    pub bytes: u32,
    /// When its buffer was offered, at the receiver.
    pub offered: Option<VirtualTime>,
    /// When its first byte was sent, at the sender.
    pub first: Option<VirtualTime>,
    /// When it was acknowledged or received.
    pub last: VirtualTime,
}

/// The messages of the current chunk.
#[derive(Debug, Default)]
pub(super) struct Tally {
    messages: Vec<u32>,
    offered: Option<VirtualTime>,
    first: Option<VirtualTime>,
}

impl Tally {
    /// Adds a message; returns its chunk if it was the last one.
    pub(super) fn note(&mut self, end: End, message: Passed) -> Option<RingStep> {
        let Passed { stamp, bytes, offered, first, last } = message;
        if self.messages.is_empty() {
            (self.offered, self.first) = (offered, first);
        }
        self.messages.push(bytes);
        if !stamp.ends_chunk {
            return None;
        }
        let Self { messages, offered, first } = std::mem::take(self);
        Some(RingStep {
            waits_ns: Vec::new(),
            sequence: stamp.sequence,
            rank: end.rank,
            role: end.role,
            channel: end.channel,
            index: stamp.index,
            part: stamp.part,
            messages,
            cts_posted_ns: offered.map(epoch_ns),
            first_byte_ns: first.map(epoch_ns),
            last_byte_ns: epoch_ns(last),
        })
    }
}
