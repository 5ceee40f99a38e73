//! Messages of collectives, one by one: what `--detail full` adds to the report.

use schemars::JsonSchema;
use serde::Serialize;

/// A message between two ranks, and the CTS that asked for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TransferReport {
    /// `id` of its connection.
    pub connection: u32,
    /// Number on the connection: NCCL's own where the CTS told it, else from the first that was seen.
    pub number: u64,
    /// `id` of its collective.
    pub collective: Option<u32>,
    /// Bytes.
    pub bytes: Option<u64>,
    /// When the receiver posted the CTS; `null` if it was not seen near the receiver.
    pub cts_posted_ns: Option<i64>,
    /// When the CTS arrived at the sender of data; `null` if it was not seen near there.
    pub cts_arrived_ns: Option<i64>,
    /// First packet of data, next to the sender if it was seen there.
    pub first_ns: Option<i64>,
    /// Last packet of data, next to the receiver if it was seen there.
    pub last_ns: Option<i64>,
    /// Its packets with a CE mark.
    pub ce_packets: u32,
}

/// A packet that tells a sender to slow down or to send again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignalReport {
    /// `cnp`, `nak` or `rnr_nak`.
    pub signal: &'static str,
    /// When it passed.
    pub time_ns: i64,
    /// `id` of the flow that carried it.
    pub flow: u32,
    /// Its frame, from 1.
    pub frame: u64,
}
