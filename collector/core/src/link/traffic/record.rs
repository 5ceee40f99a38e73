//! The record of a message: as little as linking and collectives need, because captures have
//! millions.

use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};

use super::series::Series;
use crate::decode::nccl::cts::{Cts, KEY_LIMIT};
use crate::flow::key::FlowKey;
use crate::flow::observer::Signal;
use crate::model::time::Timestamp;

/// A connection has fewer messages: a greater number is invalid.
const NUMBER_LIMIT: u64 = 1 << 48;

/// NCCL messages of one flow in one epoch, as one tap saw them, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowTraffic {
    /// The flow's key.
    pub key: FlowKey,
    /// The flow's epoch.
    pub epoch: u32,
    /// Data: WRITE_WITH_IMM, and WRITEs completed by one without bytes.
    pub data: Series<DataRecord>,
    /// Clear-to-sends.
    pub cts: Series<CtsRecord>,
    /// Of the data messages dropped from `data`, the last by PSN.
    pub forgotten: Option<DataRecord>,
    /// When the latest data message passed for which there was no room.
    pub refused: Option<Timestamp>,
    /// The latest WRITE, which a WRITE_WITH_IMM without bytes may complete (NCCL's adaptive
    /// routing).
    pub(super) open_write: Option<DataRecord>,
}

/// A data message. 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRecord {
    /// Its first packet, if it was seen.
    pub start: Option<DataStart>,
    /// When its last packet passed.
    pub last: Timestamp,
    /// PSN of its last packet, unwrapped beyond 0xffffff.
    pub last_psn: i64,
    /// Immediate data, as four bytes in network order.
    pub immediate: Option<u32>,
    /// CE-marked packets of its flow up to its last one.
    pub ce_packets: u32,
    /// Number of its last frame; saturates at 32 bits.
    pub number: u32,
}

/// The start of a data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataStart {
    /// When its first packet passed.
    pub first: Timestamp,
    /// Where it goes.
    pub address: u64,
    /// R_Key of that memory.
    pub remote_key: u32,
    /// Length of the message, from the RETH.
    pub bytes: u32,
    /// Digest of its first bytes; `None` if they were not captured.
    pub head: Option<NonZeroU64>,
}

/// A clear-to-send. 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtsRecord {
    /// When it passed.
    pub time: Timestamp,
    /// The FIFO slot that it was written to.
    pub slot: u64,
    /// Where the data shall go.
    pub address: u64,
    /// Number of the message on its connection, from 1.
    pub index: Option<NonZeroU64>,
    /// Bytes that fit, at most the greatest of 32 bits.
    pub capacity: u32,
    /// R_Keys of that memory, by device.
    pub remote_keys: [u32; KEY_LIMIT],
    /// The sender's rank in the topmost communicator, plus 1.
    pub(super) tag: Option<NonZeroU32>,
    /// Receives in the group.
    pub requests: Option<u8>,
    /// Number of its frame; the greatest of 32 bits stands for all beyond.
    pub number: u32,
}

/// A CNP or NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// The flow that carried it.
    pub key: FlowKey,
    /// That flow's epoch.
    pub epoch: u32,
    /// What it was.
    pub signal: Signal,
    /// When it passed.
    pub time: Timestamp,
    /// Number of its frame.
    pub number: u64,
}

/// Packets of a flow retransmitted close together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResendRecord {
    /// The flow that carried them.
    pub key: FlowKey,
    /// That flow's epoch.
    pub epoch: u32,
    /// When the first one passed.
    pub time: Timestamp,
    /// How many.
    pub packets: u64,
}

impl DataRecord {
    /// When its first packet passed; where that was not seen, its last one.
    #[must_use]
    pub fn first(&self) -> Timestamp {
        self.start.map_or(self.last, |start| start.first)
    }
}

impl CtsRecord {
    /// The sender's rank in the topmost communicator.
    #[must_use]
    pub fn tag(&self) -> Option<u32> {
        self.tag.map(|tag| tag.get() - 1)
    }

    /// Whether it offers the buffer that a message with this start is written to.
    #[must_use]
    pub fn offers(&self, start: &DataStart) -> bool {
        let offset = start.address.wrapping_sub(self.address);
        let fits = offset == 0 || offset < u64::from(self.capacity);
        fits && self.remote_keys.contains(&start.remote_key)
    }

    /// The record of `cts`, that came to the FIFO slot `slot` at `time` in frame `number`.
    #[must_use]
    pub(super) fn new(cts: &Cts, slot: u64, (time, number): (Timestamp, u32)) -> Self {
        Self {
            time,
            slot,
            address: cts.address,
            index: cts.number.filter(|number| *number < NUMBER_LIMIT).and_then(NonZeroU64::new),
            capacity: u32::try_from(cts.capacity).unwrap_or(u32::MAX),
            remote_keys: cts.remote_keys,
            tag: cts.tag.and_then(|tag| NonZeroU32::new(tag.saturating_add(1))),
            requests: cts.requests.and_then(|requests| u8::try_from(requests).ok()),
            number,
        }
    }
}

const _: () = assert!(size_of::<DataRecord>() <= 64 && size_of::<CtsRecord>() <= 64);
