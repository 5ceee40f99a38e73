//! Collectives: what was called, how it was carried out, how long it took.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;

/// A collective.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveReport {
    /// Number that other sections name it by, in order of time.
    pub id: u32,
    /// `id` of its communicator.
    pub communicator: String,
    /// Number on its communicator.
    pub sequence: u64,
    /// Where numbers start: `init`, or `capture` where earlier collectives were not seen.
    pub sequence_origin: &'static str,
    /// `all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, `all_to_all`,
    /// `send_recv` or `unknown`.
    pub kind: &'static str,
    /// What it could be as well: its traffic does not tell.
    pub alternatives: Vec<&'static str>,
    /// `ring`, `tree` or `unknown`.
    pub algorithm: &'static str,
    /// `simple`, `ll`, `ll128` or `unknown`.
    pub protocol: &'static str,
    /// Bytes as nccl-tests counts them; `null` where messages are missing.
    pub bytes: Option<u64>,
    /// The bytes are rounded by the protocol, or part of them was not seen.
    pub estimated: bool,
    /// Channels that carry it.
    pub channels: u32,
    /// Messages that were seen.
    pub messages: u64,
    /// First data packet.
    pub start_ns: i64,
    /// Last data packet.
    pub end_ns: i64,
    /// Bytes by duration.
    pub algbw_bytes_per_s: Option<u64>,
    /// What each link of a ring carries, as nccl-tests computes it.
    pub busbw_bytes_per_s: Option<u64>,
    /// The training step it belongs to.
    pub iteration: Option<u64>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
    /// Its parts, loop by loop.
    pub parts: Vec<PartReport>,
    /// Its ranks.
    pub ranks: Vec<CollectiveRankReport>,
    /// Its messages by connection: counted from the first that was seen on the connection.
    pub connections: Vec<CollectiveConnectionReport>,
}

/// A part of one loop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartReport {
    /// `reduce_scatter`, `all_gather`, or the collective's kind.
    pub part: &'static str,
    /// Number of the loop, from 0.
    #[serde(rename = "loop")]
    pub ring_loop: u32,
    /// First data packet.
    pub start_ns: i64,
    /// Last data packet.
    pub end_ns: i64,
}

/// When a rank took part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveRankReport {
    /// The rank.
    pub rank: u32,
    /// First CTS that it sent.
    pub first_cts_ns: Option<i64>,
    /// First data packet that it sent.
    pub first_send_ns: Option<i64>,
    /// Last data packet that it received.
    pub last_receive_ns: Option<i64>,
}

/// A collective's messages on one connection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveConnectionReport {
    /// `id` of the connection.
    pub connection: u32,
    /// Place of the first message among those that were seen on the connection, from 0.
    pub first_message: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Places, counted from this collective's first message, at which the AllGather part of each
    /// loop begins.
    pub part_boundaries: Vec<u64>,
}
