//! Messages of one flow: RDMA operations reassembled from FIRST .. LAST or ONLY.

use std::hash::BuildHasher;
use std::num::NonZero;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::sequence::RequestSpace;
use crate::decode::roce::packet::RocePacket;
use crate::model::opcode::{Operation, Traits};
use crate::model::time::Timestamp;

/// The kind of an RDMA operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessageKind {
    /// SEND, with or without immediate data or invalidation.
    Send,
    /// RDMA WRITE, also FLUSH's companion ATOMIC WRITE.
    Write,
    /// RDMA WRITE with immediate data: the receiver is notified.
    WriteWithImmediate,
    /// RDMA READ.
    Read,
    /// COMPARE_SWAP or FETCH_ADD.
    Atomic,
}

/// A message whose last packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The operation.
    pub kind: MessageKind,
    /// Unwrapped PSN of its first packet; of its last one if the first was not seen.
    pub first_psn: i64,
    /// When its first packet passed; `None` if it was not seen.
    pub first_time: Option<Timestamp>,
    /// When its last packet passed for the first time.
    pub last_time: Timestamp,
    /// Bytes; `None` if the first packet was not seen.
    pub bytes: Option<u64>,
    /// Remote virtual address, from RETH or AtomicETH.
    pub virtual_address: Option<u64>,
    /// R_Key, from RETH or AtomicETH.
    pub remote_key: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// Digest of its first [`HEAD_BYTES`] bytes (of all, if there are fewer); equal bytes have
    /// equal digests. `None` if they were not kept or its first packet was not seen.
    pub head: Option<u64>,
}

/// Bytes that [`Message::head`] covers: what a snap length of 128 leaves after the headers of an
/// IPv6 WRITE.
pub const HEAD_BYTES: usize = 32;

/// Bytes that an atomic operation reads and writes.
const ATOMIC_BYTES: u32 = 8;

/// Messages completed, by kind (REPORT `flows[].messages`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts([u64; 5]);

impl MessageCounts {
    /// Messages of one kind.
    #[must_use]
    pub const fn count(&self, kind: MessageKind) -> u64 {
        self.0[kind as usize]
    }
}

/// The first packet of an incomplete message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Start {
    psn: i64,
    time: Timestamp,
    memory: RemoteMemory,
    /// A SEND names no memory. In an `Option`, this would take eight bytes.
    has_memory: bool,
    /// Payload of the first packet: the path MTU, because more follow.
    payload_len: u32,
    head: Option<NonZero<u64>>,
}

impl Start {
    fn memory(&self) -> Option<RemoteMemory> {
        self.has_memory.then_some(self.memory)
    }
}

/// The responder's memory that a message accesses.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct RemoteMemory {
    virtual_address: u64,
    remote_key: u32,
    bytes: u32,
}

/// Reassembles one flow's messages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Messages {
    counts: MessageCounts,
    /// Two starts: a FIRST can overtake the LAST before it, and a lost LAST is retransmitted after
    /// whole messages.
    starts: [Option<Start>; 2],
    /// PSN of the latest start that did not fit: no message extends across it.
    forgotten: Option<i64>,
    /// Payload of packets that are not the last of their message, in bytes.
    path_mtu: Option<u32>,
}

impl Messages {
    /// Processes a request packet whose PSN (unwrapped: `psn`) is new; `requests` knows which PSNs
    /// before it are missing. Returns the message that it completes.
    #[inline]
    pub fn observe(
        &mut self,
        roce: &RocePacket<'_>,
        psn: i64,
        time: Timestamp,
        requests: &RequestSpace,
    ) -> Option<Message> {
        let traits = roce.bth.opcode.traits();
        if !traits.has_any(Traits::STARTS.with(Traits::ENDS)) {
            return None;
        }
        if !traits.has(Traits::ENDS) {
            self.path_mtu = Some(roce.payload_len);
            self.keep(start_of(roce, psn, time));
            return None;
        }
        let kind = kind_of(roce.bth.opcode.operation()?)?;
        self.counts.0[kind as usize] += 1;
        let start = if traits.has(Traits::STARTS) {
            Some(start_of(roce, psn, time))
        } else {
            self.take_start(roce, psn, requests)
        };
        let memory = start.and_then(|start| start.memory());
        Some(Message {
            kind,
            first_psn: start.map_or(psn, |start| start.psn),
            first_time: start.map(|start| start.time),
            last_time: time,
            bytes: start.map(|start| bytes_of(&start, psn, roce)),
            virtual_address: memory.map(|memory| memory.virtual_address),
            remote_key: memory.map(|memory| memory.remote_key),
            immediate: roce.immediate.map(|immediate| immediate.0),
            head: start.and_then(|start| start.head).map(NonZero::get),
        })
    }

    /// Messages completed so far.
    #[must_use]
    pub const fn counts(&self) -> &MessageCounts {
        &self.counts
    }

    /// Payload bytes of a full packet; `None` until a message of several packets was seen.
    #[must_use]
    pub const fn path_mtu(&self) -> Option<u32> {
        self.path_mtu
    }

    /// A full READ response packet carried `payload_len` bytes.
    pub fn learn_path_mtu(&mut self, payload_len: u32) {
        self.path_mtu = Some(payload_len);
    }

    /// Stores a start, replacing the one with the lowest PSN.
    fn keep(&mut self, start: Start) {
        let oldest = self.starts.iter_mut().min_by_key(|kept| kept.map(|kept| kept.psn));
        if let Some(place) = oldest {
            let forgotten = place.replace(start).map(|start| start.psn);
            self.forgotten = self.forgotten.max(forgotten);
        }
    }

    /// The start of the message that ends with `last`.
    fn take_start(
        &mut self,
        last: &RocePacket<'_>,
        psn: i64,
        requests: &RequestSpace,
    ) -> Option<Start> {
        let crosses = |start: &Start| {
            self.forgotten.is_some_and(|forgotten| start.psn < forgotten && forgotten < psn)
        };
        let fits = |start: &&mut Option<Start>| {
            start.is_some_and(|start| !crosses(&start) && belongs(&start, psn, last, requests))
        };
        let latest = self.starts.iter_mut().filter(fits).max_by_key(|start| start.map(|s| s.psn));
        latest.and_then(Option::take)
    }
}

/// Whether the message from `start` ends with `last`: if a LAST and a FIRST between them were lost,
/// the packets of two messages look like one.
fn belongs(start: &Start, last_psn: i64, last: &RocePacket<'_>, requests: &RequestSpace) -> bool {
    let between = last_psn - start.psn;
    let is_write = last.bth.opcode.operation().and_then(kind_of) != Some(MessageKind::Send);
    match start.memory() {
        _ if between <= 0 || start.payload_len == 0 => false,
        Some(memory) => {
            is_write && between == i64::from(memory.bytes.div_ceil(start.payload_len)) - 1
        }
        // A SEND does not announce its length.
        None => !is_write && !requests.misses_any(start.psn, last_psn),
    }
}

fn start_of(roce: &RocePacket<'_>, psn: i64, time: Timestamp) -> Start {
    let reth = roce.reth.map(|reth| RemoteMemory {
        virtual_address: reth.virtual_address,
        remote_key: reth.remote_key,
        bytes: reth.dma_len,
    });
    let memory = reth.or(roce.atomic.map(|atomic| RemoteMemory {
        virtual_address: atomic.virtual_address,
        remote_key: atomic.remote_key,
        bytes: ATOMIC_BYTES,
    }));
    Start {
        psn,
        time,
        memory: memory.unwrap_or_default(),
        has_memory: memory.is_some(),
        payload_len: roce.payload_len,
        // One message in 2^64 has the digest 0, and is taken to have none.
        head: head_of(roce).and_then(NonZero::new),
    }
}

/// The digest of a message's first bytes, from its first packet.
fn head_of(roce: &RocePacket<'_>) -> Option<u64> {
    let len = HEAD_BYTES.min(roce.payload_len as usize);
    roce.payload.get(..len).and_then(digest)
}

/// The digest of a message that begins with `data`, for [`Message::head`]; `None` without data.
#[must_use]
pub fn digest(data: &[u8]) -> Option<u64> {
    let head = data.get(..HEAD_BYTES).unwrap_or(data);
    (!head.is_empty()).then(|| FixedState::default().hash_one(head))
}

/// Bytes of the message from `start` to its last packet `last`: what its first packet announces;
/// for a SEND, every packet but the last has the first one's size.
fn bytes_of(start: &Start, last_psn: i64, last: &RocePacket<'_>) -> u64 {
    if let Some(memory) = start.memory() {
        return u64::from(memory.bytes);
    }
    let packets_before = (last_psn - start.psn) as u64;
    packets_before * u64::from(start.payload_len) + u64::from(last.payload_len)
}

fn kind_of(operation: Operation) -> Option<MessageKind> {
    use Operation as O;
    Some(match operation {
        O::SendLast
        | O::SendLastWithImmediate
        | O::SendLastWithInvalidate
        | O::SendOnly
        | O::SendOnlyWithImmediate
        | O::SendOnlyWithInvalidate => MessageKind::Send,
        O::RdmaWriteLast | O::RdmaWriteOnly | O::AtomicWrite => MessageKind::Write,
        O::RdmaWriteLastWithImmediate | O::RdmaWriteOnlyWithImmediate => {
            MessageKind::WriteWithImmediate
        }
        O::RdmaReadRequest => MessageKind::Read,
        O::CompareSwap | O::FetchAdd => MessageKind::Atomic,
        _ => return None,
    })
}
