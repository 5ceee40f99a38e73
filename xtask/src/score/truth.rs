//! The scored part of the truth about a recorded job: `truth.json` of real NCCL or `truth.jsonl`
//! of `railscope drive`.
//!
//! Ranks are world ranks here: they number all processes of the job.

mod driver;
pub(super) mod document;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Deserialize;

use super::median::lower_median;

/// A recorded job. One without NCCL has only its TCPStore and its contents.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Truth {
    pub(super) nccl_version: Option<String>,
    /// The capture began while collectives ran.
    #[serde(default)]
    pub(super) starts_mid_job: bool,
    #[serde(default)]
    pub(super) nodes: Vec<Node>,
    tcpstore: Option<Store>,
    world_size: usize,
    /// What a job without NCCL put into its TCPStore.
    unique_id_hex: Option<String>,
    /// Faults injected into the job.
    fault_commands: Option<serde_json::Value>,
    /// Ranks that were made late: on the GPU, before the CPU enqueues, or on the CPU.
    #[serde(default)]
    stragglers: Vec<LateRank>,
    straggler: Option<LateRank>,
    cpu_late: Option<LateRank>,
    /// Environment variables that only some ranks have, by rank.
    #[serde(default)]
    rank_env: BTreeMap<u32, BTreeMap<String, String>>,
    /// Frames that the network lost, by `source->destination`.
    #[serde(default)]
    lost_frames: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub(super) communicators: Vec<Communicator>,
    connections: Vec<AnyConnection>,
    #[serde(default)]
    pub(super) collectives: Vec<Collective>,
}

/// Where a rank runs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Node {
    pub(super) rank: u32,
    pub(super) hostname: String,
    pub(super) pid: u32,
    pub(super) gpu_bus_id: String,
    pub(super) frontend: Frontend,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Frontend {
    pub(super) ip: IpAddr,
}

#[derive(Clone, Debug, Deserialize)]
struct Store {
    server: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Communicator {
    /// World ranks; the place of a rank is its number in this communicator.
    pub(super) ranks: Vec<u32>,
    pub(super) magic: String,
    pub(super) comm_hash: Option<String>,
    pub(super) root_address: Option<String>,
    /// Index of the parent among all communicators.
    pub(super) split_of: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum AnyConnection {
    Net(Connection),
    Store { server: String },
}

/// A connection over the network.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Connection {
    pub(super) comm: usize,
    pub(super) channel: u32,
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) sender_qpns: Vec<u32>,
    pub(super) receiver_qpns: Vec<u32>,
    pub(super) sender_ip: IpAddr,
    pub(super) receiver_ip: IpAddr,
    pub(super) oob_connector: String,
    pub(super) oob_listener: String,
}

/// A rank that was made late.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct LateRank {
    pub(super) rank: u32,
    /// Training steps.
    #[serde(rename = "iters")]
    pub(super) iterations: Vec<u64>,
    /// How late.
    #[serde(rename = "ms")]
    milliseconds: f64,
}

impl LateRank {
    pub(super) fn delay_ns(&self) -> i64 {
        (self.milliseconds * 1e6) as i64
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Collective {
    pub(super) comm: usize,
    pub(super) seq: u64,
    /// The training step; `None` before the first, where the file has a negative number.
    #[serde(default, deserialize_with = "counted")]
    pub(super) iter: Option<u64>,
    /// `train` or `eval`; not every job has it.
    phase: Option<String>,
    /// When each rank called it; not every job has it.
    #[serde(default)]
    per_rank: Vec<RankCall>,
    pub(super) op: Operation,
    /// See [`Truth::bytes_of`].
    bytes: u64,
    pub(super) algo: Option<String>,
    proto: Option<String>,
    /// When the last rank had its result.
    pub(super) end_ns: i64,
    edges: Vec<Edge>,
}

/// What one rank did in a collective.
#[derive(Clone, Copy, Debug, Deserialize)]
struct RankCall {
    rank: u32,
    /// When its CPU called.
    enqueue_ns: i64,
    /// When its GPU's stream reached it.
    start_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Operation {
    #[default]
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    Reduce,
    AlltoAll,
    SendRecv,
}

/// What one rank sent to another on one channel in one collective.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Edge {
    pub(super) channel: u32,
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) messages: u64,
    /// On the wire.
    pub(super) bytes: u64,
    proto: Option<String>,
    /// Places of the messages that begin the second part of each loop.
    #[serde(default)]
    pub(super) phase_boundary_message_index: Vec<u64>,
    /// When the kernel handed the first message to the proxy.
    pub(super) first_post_ns: i64,
    pub(super) last_post_ns: i64,
}

/// What is known about a TCP connection by its two ends, in either order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamTruth {
    /// In the report's words.
    pub(super) kind: &'static str,
    /// Address and port of the end that accepts.
    pub(super) listener: String,
    /// The other end; `None`: any.
    pub(super) connector: Option<String>,
}

impl Truth {
    /// Whether a rank was killed: the truth lacks the collective in which the others then waited.
    pub(super) fn is_killed(&self) -> bool {
        self.fault_commands.as_ref().is_some_and(|faults| faults.to_string().contains("kill"))
    }

    /// Whether it has the times at which ranks reached collectives.
    pub(super) fn has_lateness(&self) -> bool {
        self.collectives.iter().any(|collective| !collective.per_rank.is_empty())
    }

    /// Ranks that were made late.
    pub(super) fn late_ranks(&self) -> impl Iterator<Item = &LateRank> {
        self.stragglers.iter().chain(&self.straggler).chain(&self.cpu_late)
    }

    /// Ranks whose GPU was made to take data slowly.
    pub(super) fn slow_receivers(&self) -> impl Iterator<Item = u32> {
        let is_slow = |of: &&BTreeMap<String, String>| of.contains_key("EMU_SLICE_DELAY_US");
        let slow = self.rank_env.iter().filter(move |(_, of)| is_slow(of));
        slow.map(|(rank, _)| *rank)
    }

    /// The training steps.
    pub(super) fn iterations(&self) -> BTreeSet<u64> {
        self.collectives.iter().filter_map(|collective| collective.iter).collect()
    }

    /// Whether the network lost frames from `source` to `destination`.
    pub(super) fn has_lost(&self, source: &str, destination: &str) -> bool {
        self.lost_frames.contains_key(&format!("{source}->{destination}"))
    }

    /// Connections that cross the network.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter_map(|connection| match connection {
            AnyConnection::Net(connection) => Some(connection),
            AnyConnection::Store { .. } => None,
        })
    }

    pub(super) fn node(&self, rank: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.rank == rank)
    }

    /// What `collective` sent over the network; ranks of one node share memory.
    pub(super) fn network_edges<'a>(
        &'a self,
        collective: &'a Collective,
    ) -> impl Iterator<Item = &'a Edge> {
        collective.edges.iter().filter(|edge| {
            self.connections().any(|connection| {
                connection.comm == collective.comm
                    && connection.channel == edge.channel
                    && connection.sender == edge.sender
                    && connection.receiver == edge.receiver
            })
        })
    }

    /// Bytes as nccl-tests counts them. The truth counts AllGather per rank and AlltoAll per peer.
    pub(super) fn bytes_of(&self, collective: &Collective) -> u64 {
        let ranks = self.communicators.get(collective.comm).map_or(0, |c| c.ranks.len() as u64);
        match collective.op {
            Operation::AllGather | Operation::AlltoAll => collective.bytes * ranks,
            _ => collective.bytes,
        }
    }

    /// TCP connections whose purpose is known.
    pub(super) fn streams(&self) -> Vec<StreamTruth> {
        let of_listener = |kind, listener: &String| StreamTruth {
            kind,
            listener: listener.clone(),
            connector: None,
        };
        let mut streams = Vec::new();
        streams.extend(self.tcpstore.iter().map(|store| of_listener("tcpstore", &store.server)));
        streams.extend(self.connections.iter().map(|connection| match connection {
            AnyConnection::Store { server } => of_listener("tcpstore", server),
            AnyConnection::Net(connection) => StreamTruth {
                kind: "nccl_ib_oob",
                listener: connection.oob_listener.clone(),
                connector: Some(connection.oob_connector.clone()),
            },
        }));
        let roots = self.communicators.iter().filter_map(|c| c.root_address.as_ref());
        streams.extend(roots.map(|root| of_listener("nccl_bootstrap", root)));
        streams
    }
}

impl Communicator {
    /// Parses a unique id in hexadecimal for `ranks` ranks: the magic, then the root's
    /// `sockaddr_in` (`ncclBootstrapHandle` in `bootstrap.h`).
    fn announced(unique_id: &str, ranks: usize) -> Option<Self> {
        let byte = |at: usize| u8::from_str_radix(unique_id.get(2 * at..2 * at + 2)?, 16).ok();
        let bytes: Vec<u8> = (0..16).map(byte).collect::<Option<_>>()?;
        let magic = u64::from_le_bytes(bytes[..8].try_into().ok()?);
        let port = u16::from_be_bytes([bytes[10], bytes[11]]);
        let [a, b, c, d] = [12, 13, 14, 15].map(|at| bytes[at]);
        Some(Self {
            ranks: (0..ranks as u32).collect(),
            magic: format!("{magic:016x}"),
            comm_hash: None,
            root_address: Some(format!("{a}.{b}.{c}.{d}:{port}")),
            split_of: None,
        })
    }
}

/// A number, or a negative one for none.
fn counted<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<i64>::deserialize(deserializer)?;
    Ok(number.and_then(|number| u64::try_from(number).ok()))
}

impl Collective {
    /// The number of its training step; `None` outside training steps.
    pub(super) fn training_step(&self) -> Option<u64> {
        let is_training = self.phase.as_deref().is_none_or(|phase| phase == "train");
        self.iter.filter(|_| is_training)
    }

    /// How much later than the median rank the GPU of `rank` reached it.
    pub(super) fn lateness_ns(&self, rank: u32) -> Option<i64> {
        let starts = self.per_rank.iter().map(|call| Some((call.rank, call.start_ns?)));
        lateness(starts.collect::<Option<_>>()?, rank)
    }

    /// How much later than the median rank the CPU of `rank` called it.
    pub(super) fn call_lateness_ns(&self, rank: u32) -> Option<i64> {
        lateness(self.per_rank.iter().map(|call| (call.rank, call.enqueue_ns)).collect(), rank)
    }

    /// How much later than the median rank's the first message of `rank` was handed over.
    pub(super) fn post_lateness_ns(&self, rank: u32) -> Option<i64> {
        lateness(self.first_posts(), rank)
    }

    /// How much longer than the median rank's the first message of `rank` took from being handed
    /// over to leaving the host; `left_ns` has the latter times by rank.
    pub(super) fn hold_ns(&self, rank: u32, left_ns: &BTreeMap<u32, i64>) -> Option<i64> {
        let posts = self.first_posts().into_iter();
        lateness(
            posts.filter_map(|(rank, post)| Some((rank, left_ns.get(&rank)? - post))).collect(),
            rank,
        )
    }

    /// When the first message of each rank was handed to the proxy.
    fn first_posts(&self) -> BTreeMap<u32, i64> {
        let mut posts = BTreeMap::new();
        for edge in &self.edges {
            let post = posts.entry(edge.sender).or_insert(edge.first_post_ns);
            *post = edge.first_post_ns.min(*post);
        }
        posts
    }

    /// `None` if edges disagree or there are none.
    pub(super) fn protocol(&self) -> Option<&str> {
        self.proto.as_deref().or_else(|| {
            let first = self.edges.first()?.proto.as_deref()?;
            let is_common = self.edges.iter().all(|edge| edge.proto.as_deref() == Some(first));
            is_common.then_some(first)
        })
    }

    pub(super) fn channels(&self) -> u64 {
        let channels: BTreeSet<_> = self.edges.iter().map(|edge| edge.channel).collect();
        channels.len() as u64
    }
}

fn lateness(times: BTreeMap<u32, i64>, rank: u32) -> Option<i64> {
    Some(times.get(&rank)? - lower_median(&times)?)
}

impl Operation {
    /// In the report's words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AlltoAll => "all_to_all",
            Self::SendRecv => "send_recv",
        }
    }
}
