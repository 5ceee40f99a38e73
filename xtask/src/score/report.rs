//! The keys of `railscope.report/1` that are scored.

use std::net::IpAddr;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Report {
    pub(super) capture: Capture,
    pub(super) flows: Vec<Flow>,
    pub(super) tcp_streams: Vec<TcpStream>,
    pub(super) communicators: Vec<Communicator>,
    pub(super) collectives: Vec<Collective>,
    #[serde(default)]
    pub(super) iterations: Vec<Iteration>,
}

/// A training step.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Iteration {
    pub(super) start_ns: i64,
    /// Places in the list of collectives, which are their ids.
    pub(super) collective_ids: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Capture {
    /// The origin of all times, in nanoseconds since the epoch.
    pub(super) origin_ns: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Flow {
    pub(super) id: u32,
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) dest_qpn: u32,
    pub(super) first_ns: i64,
    pub(super) owner: Option<Owner>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Owner {
    pub(super) communicator: Option<String>,
    pub(super) rank: Option<u32>,
    pub(super) peer_rank: Option<u32>,
    pub(super) channel: Option<u32>,
    pub(super) role: Option<String>,
    pub(super) grade: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct TcpStream {
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) kind: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Communicator {
    pub(super) id: String,
    pub(super) id_kind: String,
    pub(super) nranks: Option<u32>,
    pub(super) nccl_version: Option<String>,
    pub(super) root: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) ranks: Vec<Rank>,
    pub(super) connections: Vec<Connection>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Rank {
    pub(super) rank: u32,
    pub(super) host: Option<String>,
    pub(super) address: Option<IpAddr>,
    pub(super) pid: Option<u32>,
    pub(super) bus_id: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Connection {
    pub(super) id: u32,
    pub(super) sender: Option<u32>,
    pub(super) receiver: Option<u32>,
    pub(super) channel: Option<u32>,
    pub(super) queue_pairs: Vec<QueuePair>,
}

/// Named by the end that receives data.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct QueuePair {
    pub(super) dst: IpAddr,
    pub(super) dst_qpn: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Collective {
    pub(super) communicator: String,
    pub(super) kind: String,
    pub(super) alternatives: Vec<String>,
    pub(super) algorithm: String,
    pub(super) protocol: String,
    pub(super) bytes: Option<u64>,
    pub(super) estimated: bool,
    pub(super) channels: u64,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) ranks: Vec<CollectiveRank>,
    pub(super) straggler: Option<Straggler>,
    pub(super) connections: Vec<CollectiveConnection>,
}

/// What one rank did in a collective.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CollectiveRank {
    pub(super) rank: u32,
    pub(super) first_send_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Straggler {
    pub(super) rank: u32,
    pub(super) lag_ns: u64,
    pub(super) cause: String,
    pub(super) flow: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CollectiveConnection {
    pub(super) connection: u32,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) part_boundaries: Vec<u64>,
}

impl Report {
    /// The origin of all times, in nanoseconds since the epoch.
    pub(super) fn origin_ns(&self) -> i64 {
        self.capture.origin_ns.parse().unwrap_or(0)
    }
}
