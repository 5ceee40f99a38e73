//! What is kept of a message: as little as linking and collectives need, since captures have
//! millions.

use crate::decode::nccl::cts::{Cts, KEY_LIMIT};
use crate::flow::key::FlowKey;
use crate::flow::observer::Signal;
use crate::model::time::Timestamp;

/// NCCL messages of one flow in one epoch, as one tap saw them, oldest first.
#[derive(Clone, Debug)]
pub struct FlowTraffic {
    /// The flow's key.
    pub key: FlowKey,
    /// The flow's epoch.
    pub epoch: u32,
    /// Data: WRITE_WITH_IMM, and WRITEs that one of no bytes completes.
    pub data: Vec<DataRecord>,
    /// Clear-to-sends.
    pub cts: Vec<CtsRecord>,
    /// The latest WRITE, which a WRITE_WITH_IMM of no bytes may complete (NCCL's adaptive routing).
    pub(super) open_write: Option<DataRecord>,
}

/// A data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRecord {
    /// PSN of its last packet, unwrapped so that it goes on behind 0xffffff.
    pub last_psn: i64,
    /// When its first packet passed; `None` when that was not seen.
    pub first: Option<Timestamp>,
    /// When its last packet passed.
    pub last: Timestamp,
    /// Bytes; `None` when its first packet was not seen.
    pub bytes: Option<u32>,
    /// Immediate data, as four bytes in network order.
    pub immediate: Option<u32>,
    /// Where it goes; `None` when its first packet was not seen.
    pub address: Option<u64>,
    /// R_Key of that memory.
    pub remote_key: Option<u32>,
    /// Digest of its first bytes.
    pub head: Option<u64>,
    /// Packets of its flow with a CE mark up to its last one.
    pub ce_packets: u32,
    /// Number of its last frame.
    pub number: u64,
}

/// A clear-to-send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtsRecord {
    /// Its PSN, unwrapped.
    pub psn: i64,
    /// When it passed.
    pub time: Timestamp,
    /// Number of its frame.
    pub number: u64,
    /// The FIFO slot that it was written to.
    pub slot: u64,
    /// R_Key of the FIFO.
    pub fifo_key: u32,
    /// Where the data shall go.
    pub address: u64,
    /// Bytes that fit.
    pub capacity: u64,
    /// R_Keys of that memory, by device.
    pub remote_keys: [u32; KEY_LIMIT],
    /// Receives in the group.
    pub requests: Option<u32>,
    /// The sender's rank in the topmost communicator.
    pub tag: Option<u32>,
    /// Number of the message on its connection, from 1.
    pub index: Option<u64>,
}

/// A CNP or NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl CtsRecord {
    /// Whether `element` offers memory for `address` with the R_Key `key`.
    #[must_use]
    pub fn offers(&self, address: u64, key: u32) -> bool {
        let offset = address.wrapping_sub(self.address);
        (offset == 0 || offset < self.capacity) && self.remote_keys.contains(&key)
    }

    /// The record of `cts`, that came at `time` in frame `number` with `psn` to `slot`.
    #[must_use]
    pub(super) fn new(
        cts: &Cts,
        psn: i64,
        (slot, fifo_key): (u64, u32),
        (time, number): (Timestamp, u64),
    ) -> Self {
        Self {
            psn,
            time,
            number,
            slot,
            fifo_key,
            address: cts.address,
            capacity: cts.capacity,
            remote_keys: cts.remote_keys,
            requests: cts.requests,
            tag: cts.tag,
            index: cts.number,
        }
    }
}
