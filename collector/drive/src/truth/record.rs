//! The lines of a truth file.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the format; keys may be added, none renamed.
pub const SCHEMA: &str = "railscope.truth/1";

/// One line of a truth file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The job: first line of every file.
    Job(Job),
    /// A rank.
    Rank(Rank),
    /// One end of a connection that carries data.
    Link(Link),
    /// A collective.
    Collective(Collective),
    /// What one rank did of a collective.
    Call(Call),
    /// One chunk of a collective at one end of a link.
    RingStep(RingStep),
    /// What a rank computed between collectives.
    Compute(Compute),
    /// A training step, over all ranks.
    Iteration(Iteration),
    /// Trouble on purpose.
    Fault(FaultRecord),
    /// A finding that it leads to.
    Expected(Expected),
    /// A packet that a fault met.
    Injected(Injected),
    /// What the adapter of a rank counted.
    Adapter(Adapter),
    /// What a port of a simulated fabric counted.
    Port(Port),
}

impl Record {
    /// The JSON Schema of a line.
    #[must_use]
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// Whether it says who takes part: the job and its ranks.
    #[must_use]
    pub fn is_introduction(&self) -> bool {
        matches!(self, Self::Job(_) | Self::Rank(_))
    }
}

/// The job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// `railscope.truth/1`
    pub schema: String,
    /// NCCL release whose formats are spoken: `2.27.7`.
    pub nccl_version: String,
    /// `soft`, `verbs` or `socket`: what was asked for.
    pub transport: String,
    /// `IB` or `Socket`: what was used.
    pub network: String,
    /// How many.
    pub ranks: u32,
    /// Rings.
    pub channels: u32,
    /// Address of the store.
    pub store: SocketAddr,
    /// The 128 bytes of the communicator's unique id, hexadecimal.
    pub unique_id: String,
    /// The communicator's magic, hexadecimal, as `0x0123456789abcdef`.
    pub magic: String,
    /// What NCCL hashes the id to, hexadecimal.
    pub comm_hash: String,
    /// Where the root listened.
    pub root: SocketAddr,
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// From 0.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Its process, in its own namespace.
    pub pid: u32,
    /// Where it listens.
    pub address: IpAddr,
    /// Where its data comes from.
    pub data_address: IpAddr,
    /// The interface of `address`.
    pub interface: String,
    /// RDMA device; empty without RDMA.
    pub device: String,
    /// What it says its GPU is: `0000:1b:00.0`.
    pub bus_id: String,
}

/// Which end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkRole {
    /// Sends data.
    Sender,
    /// Receives data.
    Receiver,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Whose end.
    pub rank: u32,
    /// The rank at the other end.
    pub peer: u32,
    /// Whether `rank` sends or receives.
    pub role: LinkRole,
    /// From 0.
    pub channel: u32,
    /// Queue pairs of this end; empty without RDMA.
    pub qpns: Vec<u32>,
    /// Queue pairs of the other end, in the same order.
    pub peer_qpns: Vec<u32>,
    /// The sender's end of the TCP connection on which they were exchanged.
    pub connector: Option<SocketAddr>,
    /// The receiver's end of it.
    pub listener: Option<SocketAddr>,
    /// Where clear-to-sends are written at the sender: address.
    pub fifo_address: Option<u64>,
    /// And its key.
    pub fifo_rkey: Option<u32>,
}

/// A collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collective {
    /// From 0, in the order of the communicator.
    pub sequence: u64,
    /// `AllReduce`, `AllGather`, `ReduceScatter`, `Broadcast`.
    pub kind: String,
    /// `ring`
    pub algorithm: String,
    /// `simple`
    pub protocol: String,
    /// Bytes as nccl-tests counts them: the buffer; all ranks' parts for AllGather and ReduceScatter.
    pub bytes: u64,
    /// `float`, `double`, `int32`
    pub data_type: String,
    /// `sum`, `prod`, `min`, `max`; `none` where nothing is reduced.
    pub operator: String,
    /// The root of a Broadcast.
    pub root: Option<u32>,
    /// Training step it belongs to, from 0; `None` in a sweep and while warming up.
    pub iteration: Option<u32>,
    /// Whether it only warms up or checks results: its time is not in the table.
    pub is_warmup: bool,
}

/// What one rank did of a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Which collective.
    pub sequence: u64,
    /// Who.
    pub rank: u32,
    /// When it was called: enqueued, where the GPU is not waited for.
    pub start_ns: u64,
    /// When the GPU came to it; only where a GPU is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_start_ns: Option<u64>,
    /// When this rank had its result and all it sent was acknowledged.
    pub end_ns: u64,
    /// Elements that are not what they must be; `None`: not compared.
    pub wrong: Option<u64>,
}

/// Which part of a collective a chunk belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Partial sums go around.
    ReduceScatter,
    /// Results go around.
    AllGather,
    /// The root's buffer goes down the chain.
    Broadcast,
}

/// One chunk of a collective at one end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RingStep {
    /// Which collective.
    pub sequence: u64,
    /// Whose end.
    pub rank: u32,
    /// Whether `rank` sends or receives it.
    pub role: LinkRole,
    /// From 0.
    pub channel: u32,
    /// Place of the chunk among those of this link and collective, from 0.
    pub index: u32,
    /// Part of the collective.
    pub part: Part,
    /// Bytes of each of its messages, in order.
    pub messages: Vec<u32>,
    /// Receiver: when room was offered for its first message.
    pub cts_posted_ns: Option<u64>,
    /// When its first byte left or, where the adapter tells, came; a chunk without bytes has the
    /// time of its empty message.
    pub first_byte_ns: Option<u64>,
    /// When its last byte was acknowledged (sender) or had come (receiver).
    pub last_byte_ns: u64,
}

/// What a rank computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compute {
    /// Who.
    pub rank: u32,
    /// Training step, from 0; `None` while warming up.
    pub iteration: Option<u32>,
    /// From.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
}

/// A training step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// From 0, warm-up not counted.
    pub iteration: u32,
    /// When the first rank began to compute.
    pub start_ns: u64,
    /// When the last rank's last collective ended.
    pub end_ns: u64,
}

/// A finding that a scenario leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// Its id.
    pub finding: String,
    /// The rank it is about.
    pub rank: Option<u32>,
    /// Why, where a finding has causes.
    pub cause: Option<String>,
    /// The port or host it is about; `most_marked`: the port that marked most frames, which depends
    /// on the seed.
    pub place: Option<String>,
    /// Whether it may come as well; else it must.
    pub is_possible: bool,
}

/// What a port of a simulated fabric counted until the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// `host3`, `leaf1:uplink0`.
    pub port: String,
    /// Frames sent, pause frames included.
    pub frames_sent: u64,
    /// Their bytes, without FCS.
    pub bytes_sent: u64,
    /// Frames that got CE while they queued here to be sent.
    pub frames_marked: u64,
    /// Frames that the link to this port lost.
    pub frames_lost: u64,
    /// Frames that came and found no room or no route.
    pub frames_dropped: u64,
}

/// Trouble on purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// `straggler`, `late_receiver`, `loss`, `reorder`, `mark_ce`, `socket_fallback`, `missing_rank`;
    /// on a simulated fabric also `slow_receiver`, `flap`, `background`, `slow_nic`, `pause_storm`,
    /// `wrong_dscp`, `not_ect`.
    pub kind: String,
    /// At this rank.
    pub rank: Option<u32>,
    /// On packets from this rank to `to`.
    pub from: Option<u32>,
    /// See `from`.
    pub to: Option<u32>,
    /// Of time, ns.
    pub delay_ns: Option<u64>,
    /// Of packets, from 0 to 1.
    pub share: Option<f64>,
    /// First training step, from 0.
    pub first_iteration: Option<u32>,
    /// Last training step.
    pub last_iteration: Option<u32>,
    /// Of a straggler: `compute` or `enqueue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// At this port, NIC or host of a simulated fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// From.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// Until.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
}

/// A packet that a fault met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// `loss`, `reorder`, `mark_ce`.
    pub kind: String,
    /// The rank whose port it was.
    pub rank: u32,
    /// When.
    pub ns: u64,
    /// The packet's destination queue pair.
    pub qpn: u32,
    /// And PSN.
    pub psn: u32,
}

/// What the adapter of `--transport soft` counted until its rank left: also trouble that nobody
/// asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Adapter {
    /// Whose.
    pub rank: u32,
    /// Packets given to the network, those that faults dropped included.
    pub packets_sent: u64,
    /// Packets that came.
    pub packets_received: u64,
    /// Request packets sent again.
    pub retransmitted: u64,
    /// Times that nothing was answered in time.
    pub timeouts: u64,
    /// NAKs for a gap sent.
    pub sequence_naks_sent: u64,
    /// RNR NAKs sent.
    pub rnr_naks_sent: u64,
    /// Packets received with CE.
    pub ce_received: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// CNPs that slowed a queue pair.
    pub cnps_received: u64,
    /// Packets that came while there was no room for them.
    pub overflowed: u64,
    /// Packets that the kernel had no room for when they were sent.
    pub unsent: u64,
    /// Packets whose ICRC was wrong.
    pub icrc_errors: u64,
}
