//! Communicators: NCCL's groups of ranks, and how their ranks are connected.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;
use super::sources::Sources;
use super::waits::RankWaitsReport;
use crate::analysis::bootstrap::BootstrapProgress;
use crate::link::job::{
    Channel, Communicator, CommunicatorId, Identity, Job, NetConnection, Rank, RankQueuePair,
    TreeNode,
};
use crate::model::nccl::Graph;
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{QueuePairKind, QueuePairState};

/// Most missing ranks listed.
const MISSING_RANKS_LISTED: usize = 1024;

/// A communicator: its ranks, channels and connections.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommunicatorReport {
    /// Its identity: the hash or magic in hexadecimal, or `inferred-N`.
    pub id: String,
    /// `comm_hash`, `log_hash`, `magic` or `inferred`.
    pub id_kind: &'static str,
    /// Number of ranks; `null` if unknown.
    pub nranks: Option<u32>,
    /// NCCL's release; without patch level if only known from message sizes.
    pub nccl_version: Option<String>,
    /// Address and port of the root.
    pub root: Option<String>,
    /// `id` of the communicator it was split from.
    pub parent: Option<String>,
    /// `ib`, `socket`, `mixed` or `unknown`.
    pub transport: &'static str,
    /// Its ranks, ascending.
    pub ranks: Vec<RankReport>,
    /// Its channels with ring and tree, as far as they are known.
    pub channels: Vec<ChannelReport>,
    /// How its ranks found each other; `null` if that was not captured.
    pub bootstrap: Option<BootstrapReport>,
    /// NCCL's connections between its ranks.
    pub connections: Vec<ConnectionReport>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// What shows that it exists, the strongest first.
    pub evidence: Vec<EvidenceReport>,
}

/// A rank: where it runs and which ports it uses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RankReport {
    /// Its number.
    pub rank: u32,
    /// Its number in the `parent`; `null` unless process and GPU identify it there.
    pub parent_rank: Option<u32>,
    /// What identifies its host: `host`, else `address`, else the address of its first NIC.
    pub place: Option<String>,
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
    /// Queue pairs of its process, from the process and its kernel: only known to the agent on the
    /// rank's own host.
    pub queue_pairs: Vec<RankQueuePairReport>,
    /// Where its time went, in all collectives together.
    pub waits: RankWaitsReport,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// What shows that the rank is this process, the strongest first.
    pub evidence: Vec<EvidenceReport>,
}

/// A queue pair of a rank's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RankQueuePairReport {
    /// RDMA device.
    pub device: Option<String>,
    /// Its number.
    pub qpn: u32,
    /// QPN at the other end.
    pub remote_qpn: Option<u32>,
    /// The address at the other end.
    pub remote_address: Option<String>,
    /// `RC` or `DRIVER`, as `rdma resource show qp` names them.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE` or `ERR`.
    pub state: Option<&'static str>,
    /// Certainty that it serves this communicator; that it belongs to the process is certain.
    pub grade: &'static str,
}

/// A port that a rank's data uses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NicReport {
    /// IP address of the port.
    pub address: String,
    /// Device name.
    pub device: Option<String>,
}

/// A channel: a ring and a tree over all ranks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChannelReport {
    /// Its number.
    pub channel: Option<u32>,
    /// Ranks in the order in which data goes around; empty if unknown.
    pub ring: Vec<u32>,
    /// The tree, rank by rank; `null` if unknown.
    pub tree: Option<Vec<TreeNodeReport>>,
}

/// A rank's place in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeNodeReport {
    /// Rank in the communicator.
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
    /// Ranks that did not check in.
    pub missing_ranks: Vec<u32>,
    /// From the first check-in to the end of the last gather.
    pub duration_ns: Option<u64>,
    /// The rank that checked in last.
    pub last_rank: Option<u32>,
}

/// NCCL's connection for one direction of one channel between two ranks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConnectionReport {
    /// Number that other sections refer to, unique over all communicators.
    pub id: u32,
    /// The rank that sends.
    pub sender: Option<u32>,
    /// The rank that receives.
    pub receiver: Option<u32>,
    /// Channel that it serves; `null` if no source names it.
    pub channel: Option<u32>,
    /// `ring`, `tree`, `collnet`, `nvls` or `point_to_point`: what it was built for; `bootstrap`: the
    /// bootstrap's own ring, over NET/IB (`NCCL_OOB_NET_ENABLE`), which is in no collective; `null` if
    /// only data was seen.
    pub graph: Option<&'static str>,
    /// The queue pairs that carry its data, with both ends; none over NET/Socket.
    pub queue_pairs: Vec<QueuePairEndsReport>,
    /// The TCP connection that carries its data over NET/Socket; `null` over RDMA.
    pub socket: Option<SocketEndsReport>,
    /// Messages seen.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Certainty of the ranks: `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// What shows which ranks it connects, the strongest first.
    pub evidence: Vec<EvidenceReport>,
}

/// The two ends of a TCP connection that carries a connection's data, as address and port.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SocketEndsReport {
    /// The end that sends data.
    pub src: String,
    /// The end that receives data.
    pub dst: String,
}

/// The two ends of a queue pair that carries a connection's data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueuePairEndsReport {
    /// The address that sends data.
    pub src: String,
    /// The sender's QPN.
    pub src_qpn: Option<u32>,
    /// The address that receives data.
    pub dst: String,
    /// The receiver's QPN.
    pub dst_qpn: u32,
}

/// The communicators, oldest first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CommunicatorReport> {
    let Some(job) = &sources.state.job else { return Vec::new() };
    let mut connections: Vec<Vec<ConnectionReport>> = Vec::new();
    connections.resize_with(job.communicators.len(), Vec::new);
    for (id, connection) in (0..).zip(&job.connections) {
        if let Some(of) = connections.get_mut(connection.communicator.0 as usize) {
            of.push(connection_report(sources, id, connection));
        }
    }
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators).zip(connections);
    communicators.map(|(one, connections)| report(sources, job, one, connections)).collect()
}

fn report(
    sources: &Sources<'_>,
    job: &Job,
    (id, communicator): (CommunicatorId, &Communicator),
    connections: Vec<ConnectionReport>,
) -> CommunicatorReport {
    let understanding = sources.understanding;
    let rank = |rank: &Rank| RankReport {
        parent_rank: understanding.parent_ranks.get(&(id, rank.rank)).copied(),
        waits: understanding.rank_sums.get(&(id, rank.rank)).copied().unwrap_or_default().into(),
        ..rank_report(sources, rank)
    };
    CommunicatorReport {
        id: communicator.identity.to_string(),
        id_kind: match communicator.identity {
            Identity::CommHash(_) => "comm_hash",
            Identity::LogHash(_) => "log_hash",
            Identity::Magic(_) => "magic",
            Identity::Inferred(_) => "inferred",
        },
        nranks: communicator.nranks,
        nccl_version: communicator
            .release
            .map(|release| release.to_string())
            .or(communicator.releases.map(|releases| releases.to_string())),
        root: communicator.root.map(|root| root.to_string()),
        parent: communicator.parent.and_then(|parent| job.name_of(parent)),
        transport: communicator.transport.name(),
        ranks: communicator.ranks.iter().map(rank).collect(),
        channels: communicator.channels.iter().map(channel_report).collect(),
        bootstrap: understanding.bootstraps.get(&id).map(bootstrap_report),
        connections,
        grade: communicator.grade.name(),
        evidence: EvidenceReport::list(sources, &communicator.evidence),
    }
}

fn bootstrap_report(progress: &BootstrapProgress) -> BootstrapReport {
    let listed = progress.missing_ranks.first.iter().take(MISSING_RANKS_LISTED);
    BootstrapReport {
        complete: progress.missing_ranks.is_empty(),
        missing_ranks: listed.copied().collect(),
        duration_ns: progress.duration_ns,
        last_rank: progress.last_rank,
    }
}

fn rank_report(sources: &Sources<'_>, rank: &Rank) -> RankReport {
    RankReport {
        rank: rank.rank,
        parent_rank: None,
        place: rank.place(),
        host: rank.host.clone(),
        address: rank.address.map(|address| address.to_string()),
        pid: rank.pid,
        bus_id: rank.bus_id.map(bus_id),
        nics: rank
            .nics
            .iter()
            .map(|nic| NicReport { address: nic.address.to_string(), device: nic.device.clone() })
            .collect(),
        queue_pairs: rank.queue_pairs.iter().map(rank_queue_pair).collect(),
        waits: RankWaitsReport::default(),
        grade: rank.grade.name(),
        evidence: EvidenceReport::list(sources, &rank.evidence),
    }
}

fn rank_queue_pair(pair: &RankQueuePair) -> RankQueuePairReport {
    RankQueuePairReport {
        device: pair.device.clone(),
        qpn: pair.number.value(),
        remote_qpn: pair.remote.map(Qpn::value),
        remote_address: pair.remote_address.map(|address| address.to_string()),
        kind: pair.kind.map(QueuePairKind::name),
        state: pair.state.map(QueuePairState::name),
        grade: pair.grade.name(),
    }
}

/// The PCI address that NCCL packs into a number: domain, bus, device, function.
fn bus_id(packed: u64) -> String {
    let (domain, bus) = (packed >> 20, packed >> 12 & 0xff);
    let (device, function) = (packed >> 4 & 0xff, packed & 0xf);
    format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
}

fn channel_report(channel: &Channel) -> ChannelReport {
    let node =
        |node: &TreeNode| TreeNodeReport { rank: node.rank, up: node.up, down: node.down.clone() };
    ChannelReport {
        channel: channel.channel,
        ring: channel.ring.clone(),
        tree: channel.tree.as_ref().map(|tree| tree.iter().map(node).collect()),
    }
}

fn connection_report(
    sources: &Sources<'_>,
    id: u32,
    connection: &NetConnection,
) -> ConnectionReport {
    ConnectionReport {
        id,
        sender: connection.sender,
        receiver: connection.receiver,
        channel: connection.channel,
        graph: connection.graph.map(|graph| match graph {
            Graph::Ring => "ring",
            Graph::Tree => "tree",
            Graph::CollNet => "collnet",
            Graph::Nvls => "nvls",
            Graph::PointToPoint => "point_to_point",
            Graph::Bootstrap => "bootstrap",
        }),
        queue_pairs: connection
            .queue_pairs
            .iter()
            .map(|pair| QueuePairEndsReport {
                src: pair.sender.to_string(),
                src_qpn: pair.sender_qpn.map(Qpn::value),
                dst: pair.receiver.to_string(),
                dst_qpn: pair.receiver_qpn.value(),
            })
            .collect(),
        socket: connection.socket.as_ref().map(|pair| SocketEndsReport {
            src: pair.sender.to_string(),
            dst: pair.receiver.to_string(),
        }),
        messages: connection.transfers.len() as u64,
        bytes: connection.transfers.iter().filter_map(|transfer| transfer.bytes).sum(),
        grade: connection.grade.name(),
        evidence: EvidenceReport::list(sources, &connection.evidence),
    }
}
