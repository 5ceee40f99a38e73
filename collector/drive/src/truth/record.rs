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
    /// A rank: its host, addresses and GPU.
    Rank(Rank),
    /// One end of a connection that carries data.
    Link(Link),
    /// A collective, without its timing: see `call`.
    Collective(Collective),
    /// One rank's part in a collective.
    Call(Call),
    /// One chunk of a collective at one end of a link.
    RingStep(RingStep),
    /// Compute time of a rank between collectives.
    Compute(Compute),
    /// A training step, over all ranks.
    Iteration(Iteration),
    /// An injected fault.
    Fault(FaultRecord),
    /// A finding that railscope must report.
    Expected(Expected),
    /// A packet hit by a fault.
    Injected(Injected),
    /// A pause that one port asked for, or that another one kept.
    Pause(Pause),
    /// The counters of a rank's adapter.
    Adapter(Adapter),
    /// The counters of a port of a simulated fabric.
    Port(PortRecord),
}

impl Record {
    /// The JSON Schema of a line.
    #[must_use]
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// Whether it describes the participants: the job and its ranks.
    #[must_use]
    pub fn is_introduction(&self) -> bool {
        matches!(self, Self::Job(_) | Self::Rank(_))
    }
}

/// Facts about the whole job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// `railscope.truth/1`
    pub schema: String,
    /// NCCL release whose wire format is used: `2.27.7`.
    pub nccl_version: String,
    /// `soft`, `verbs` or `socket`: the requested transport.
    pub transport: String,
    /// `IB` or `Socket`: the network in use.
    pub network: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of rings.
    pub channels: u32,
    /// Address of the store.
    pub store: SocketAddr,
    /// The 128 bytes of the communicator's unique id, hexadecimal.
    pub unique_id: String,
    /// The communicator's magic, hexadecimal, as `0x0123456789abcdef`.
    pub magic: String,
    /// NCCL's hash of the id, hexadecimal.
    pub comm_hash: String,
    /// Where the root listened.
    pub root: SocketAddr,
}

/// Where a rank ran and where it sent data from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Rank number, from 0.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Its PID, in its own namespace.
    pub pid: u32,
    /// Address it listens at.
    pub address: IpAddr,
    /// Address it sends data from.
    pub data_address: IpAddr,
    /// The interface of `address`.
    pub interface: String,
    /// RDMA device; empty without RDMA.
    pub device: String,
    /// Its reported GPU: `0000:1b:00.0`.
    pub bus_id: String,
}

/// The end of a link.
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
    /// The rank at this end.
    pub rank: u32,
    /// The rank at the other end.
    pub peer: u32,
    /// Whether `rank` sends or receives.
    pub role: LinkRole,
    /// Channel number, from 0.
    pub channel: u32,
    /// Queue pairs of this end; empty without RDMA.
    pub qpns: Vec<u32>,
    /// Queue pairs of the other end, in the same order.
    pub peer_qpns: Vec<u32>,
    /// The sender's end of the TCP connection on which they were exchanged.
    pub connector: Option<SocketAddr>,
    /// The receiver's end of it.
    pub listener: Option<SocketAddr>,
    /// Address of the clear-to-send queue at the sender.
    pub fifo_address: Option<u64>,
    /// Key of the clear-to-send queue.
    pub fifo_rkey: Option<u32>,
}

/// A collective, the same for all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collective {
    /// Number in the communicator, from 0.
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
    /// `sum`, `prod`, `min`, `max`; `none` without a reduction.
    pub operator: String,
    /// The root of a Broadcast.
    pub root: Option<u32>,
    /// Its training step, from 0; `null` in a sweep and during warm-up.
    pub iteration: Option<u32>,
    /// Whether it only warms up or checks results: its time is not in the table.
    pub is_warmup: bool,
}

/// One rank's part in a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Number of the collective.
    pub sequence: u64,
    /// The rank that called.
    pub rank: u32,
    /// When it was called; enqueued, if the call does not wait for the GPU.
    pub start_ns: u64,
    /// When the GPU started it; only with a simulated GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_start_ns: Option<u64>,
    /// When this rank had its result and everything it sent was acknowledged.
    pub end_ns: u64,
    /// Wrong elements; `null` or absent if not checked.
    pub wrong: Option<u64>,
}

/// The part of a collective that a chunk belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Partial sums go around the ring.
    ReduceScatter,
    /// Results go around the ring.
    AllGather,
    /// The root's buffer goes along the chain.
    Broadcast,
}

/// One chunk of a collective at one end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RingStep {
    /// Number of the collective.
    pub sequence: u64,
    /// The rank at this end.
    pub rank: u32,
    /// Whether `rank` sends or receives it.
    pub role: LinkRole,
    /// Channel number, from 0.
    pub channel: u32,
    /// Index of the chunk on this link in this collective, from 0.
    pub index: u32,
    /// Part of the collective.
    pub part: Part,
    /// Bytes of each of its messages, in order.
    pub messages: Vec<u32>,
    /// What each of them waited for, in ns: of a send its GPU, the receiver, the network; of a receive its
    /// data, a flush, its GPU. Empty in a simulation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_ns: Vec<[u64; 3]>,
    /// Receiver: when the buffer for its first message was offered.
    pub cts_posted_ns: Option<u64>,
    /// When its first byte was sent or, if the adapter knows, received; a chunk without bytes has
    /// the time of its empty message.
    pub first_byte_ns: Option<u64>,
    /// When its last byte was acknowledged (sender) or received (receiver).
    pub last_byte_ns: u64,
}

/// Compute time of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compute {
    /// The rank that computed.
    pub rank: u32,
    /// Training step, from 0; `null` during warm-up.
    pub iteration: Option<u32>,
    /// When it began, in ns since the Unix epoch.
    pub start_ns: u64,
    /// When it ended, in ns since the Unix epoch.
    pub end_ns: u64,
}

/// A training step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// Number from 0, warm-up excluded.
    pub iteration: u32,
    /// When the first rank started to compute.
    pub start_ns: u64,
    /// When the last rank's last collective ended.
    pub end_ns: u64,
}

/// A finding that railscope must report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// Its id.
    pub finding: String,
    /// The rank it is about.
    pub rank: Option<u32>,
    /// Its cause, if the finding has causes.
    pub cause: Option<String>,
    /// The port or host it is about; `most_marked`: the port that marked most frames, which depends
    /// on the seed.
    pub place: Option<String>,
    /// Whether it is optional.
    pub is_possible: bool,
}

/// The final counters of a port of a simulated fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRecord {
    /// `host3`, `leaf1:uplink0`.
    pub port: String,
    /// Frames sent, including pause frames.
    pub frames_sent: u64,
    /// Their bytes, without FCS.
    pub bytes_sent: u64,
    /// Frames marked with CE in this port's queue.
    pub frames_marked: u64,
    /// Frames lost on the link to this port.
    pub frames_lost: u64,
    /// Frames received and dropped: no buffer or no route.
    pub frames_dropped: u64,
}

/// An injected fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// `straggler`, `late_receiver`, `loss`, `reorder`, `mark_ce`, `pause`, `socket_fallback`, `slow_socket`,
    /// `path_mtu`, `missing_rank`; on a simulated fabric also `slow_receiver`, `flap`, `background`, `slow_nic`,
    /// `pause_storm`, `wrong_dscp`, `not_ect`.
    pub kind: String,
    /// The affected rank.
    pub rank: Option<u32>,
    /// Packets from this rank to `to` are affected; by a pause, all of its port.
    pub from: Option<u32>,
    /// See `from`.
    pub to: Option<u32>,
    /// How long the fault delays its rank or packets, in ns.
    pub delay_ns: Option<u64>,
    /// Share of packets, of a pause of the time, from 0 to 1.
    pub share: Option<f64>,
    /// The path MTU of its queue pairs, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// What a TCP connection sends at most, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<u64>,
    /// First training step, from 0.
    pub first_iteration: Option<u32>,
    /// Last training step.
    pub last_iteration: Option<u32>,
    /// For a straggler: `compute` or `enqueue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The affected port, NIC or host of a simulated fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When the fault began, in ns since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// When the fault ended, in ns since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
}

impl FaultRecord {
    /// A fault of this kind of which nothing else is to be said.
    #[must_use]
    pub fn plain(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            rank: None,
            from: None,
            to: None,
            delay_ns: None,
            share: None,
            mtu: None,
            bits_per_second: None,
            first_iteration: None,
            last_iteration: None,
            cause: None,
            place: None,
            start_ns: None,
            end_ns: None,
        }
    }
}

/// A packet hit by a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// `loss`, `reorder`, `mark_ce`.
    pub kind: String,
    /// The rank at whose port it happened.
    pub rank: u32,
    /// Time.
    pub ns: u64,
    /// The packet's destination queue pair.
    pub qpn: u32,
    /// The packet's PSN.
    pub psn: u32,
}

/// A pause of a class of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// The rank whose port asked for it, or kept it.
    pub rank: u32,
    /// Whether the port asked for it. Otherwise it sent no packet of the class then.
    pub is_asked: bool,
    /// The class: the upper three bits of the packets' traffic class.
    pub class: u8,
    /// From when on. The asking port sent its frame then; the paused one had looked.
    pub start_ns: u64,
    /// Until when, if no later frame replaces it.
    pub end_ns: u64,
}

/// Counters of the adapter of `--transport soft` until its rank left, including problems that were
/// not injected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Adapter {
    /// The rank that used the adapter.
    pub rank: u32,
    /// Packets given to the network, including those dropped by faults.
    pub packets_sent: u64,
    /// Packets that arrived, including those that were then refused.
    pub packets_received: u64,
    /// Retransmitted request packets.
    pub retransmitted: u64,
    /// Timeouts without an answer.
    pub timeouts: u64,
    /// NAKs sent for missing packets.
    pub sequence_naks_sent: u64,
    /// NAKs sent because no receive was posted.
    pub rnr_naks_sent: u64,
    /// CE-marked packets received.
    pub ce_received: u64,
    /// CNPs sent because CE-marked packets arrived.
    pub cnps_sent: u64,
    /// CNPs that slowed a queue pair.
    pub cnps_received: u64,
    /// Received packets lost because the socket's buffer was full.
    pub overflowed: u64,
    /// Sent packets lost because the kernel had no buffer for them.
    pub unsent: u64,
    /// Packets with a wrong ICRC.
    pub icrc_errors: u64,
}
