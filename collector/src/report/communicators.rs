//! Communicators: NCCL's groups of ranks, and how their ranks are connected.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;

/// A communicator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommunicatorReport {
    /// Its identity: the hash or magic in hexadecimal, or `inferred-N`.
    pub id: String,
    /// `comm_hash`, `log_hash`, `magic` or `inferred`.
    pub id_kind: &'static str,
    /// Ranks; `null` where nothing tells.
    pub nranks: Option<u32>,
    /// NCCL's release; without patch level where only message sizes tell it.
    pub nccl_version: Option<String>,
    /// Address and port of the root.
    pub root: Option<String>,
    /// `id` of the communicator that it was split from.
    pub parent: Option<String>,
    /// `ib`, `socket`, `mixed` or `unknown`.
    pub transport: &'static str,
    /// Its ranks, ascending.
    pub ranks: Vec<RankReport>,
    /// Its channels.
    pub channels: Vec<ChannelReport>,
    /// How its ranks found each other; `null` where that was not seen.
    pub bootstrap: Option<BootstrapReport>,
    /// NCCL's connections between its ranks.
    pub connections: Vec<ConnectionReport>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
}

/// A rank.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RankReport {
    /// Its number.
    pub rank: u32,
    /// Name of its host.
    pub host: Option<String>,
    /// Address of its control plane.
    pub address: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// PCI address of its GPU, as in `0000:1b:00.0`.
    pub bus_id: Option<String>,
    /// Ports that its data uses.
    pub nics: Vec<NicReport>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
}

/// A port that a rank's data uses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NicReport {
    /// Its address.
    pub address: String,
    /// Device name.
    pub device: Option<String>,
}

/// A channel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChannelReport {
    /// Its number.
    pub channel: Option<u32>,
    /// Ranks in the order in which data goes around; empty where it is not known.
    pub ring: Vec<u32>,
    /// The tree, rank by rank; `null` where it is not known.
    pub tree: Option<Vec<TreeNodeReport>>,
}

/// A rank's place in a tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeNodeReport {
    /// The rank.
    pub rank: u32,
    /// The rank above; `null` at the root.
    pub up: Option<u32>,
    /// The ranks below.
    pub down: Vec<u32>,
}

/// How the ranks found each other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BootstrapReport {
    /// Every rank took part.
    pub complete: bool,
    /// Ranks that were not heard of.
    pub missing_ranks: Vec<u32>,
    /// From the first check-in to the end of the last gather.
    pub duration_ns: Option<u64>,
    /// The rank that checked in last.
    pub last_rank: Option<u32>,
}

/// NCCL's connection for one direction of one channel between two ranks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConnectionReport {
    /// Number that other sections name it by, over all communicators.
    pub id: u32,
    /// The rank that sends.
    pub sender: Option<u32>,
    /// The rank that receives.
    pub receiver: Option<u32>,
    /// The channel.
    pub channel: Option<u32>,
    /// `ring`, `tree`, `collnet`, `nvls` or `point_to_point`: what it was built for; `null` where
    /// only data was seen.
    pub graph: Option<&'static str>,
    /// Its queue pairs.
    pub queue_pairs: Vec<QueuePairReport>,
    /// Messages that were seen.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// How sure the ranks are: `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
}

/// Both ends of a queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueuePairReport {
    /// The address that sends data.
    pub src: String,
    /// The sender's QPN.
    pub src_qpn: Option<u32>,
    /// The address that receives data.
    pub dst: String,
    /// The receiver's QPN.
    pub dst_qpn: u32,
}
