//! What a rank runs: wire format, transport and workload.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::collective::{DataType, Kind, Operator};
use super::fault::Fault;
use super::layout::Layout;
use super::release::Release;

/// A job, the same for all of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The release whose wire format is used.
    pub release: Release,
    /// What carries data.
    pub transport: Transport,
    /// Rings that share each collective: `NCCL_MAX_NCHANNELS`.
    pub channels: u32,
    /// What is reduced, in which sizes and how often.
    pub workload: Workload,
    /// Whether results are checked.
    pub check: bool,
    /// Seed of jitter and random faults: the same seed makes the same choices.
    pub seed: u64,
    /// Injected faults.
    pub faults: Vec<Fault>,
    /// NET/IB's settings.
    pub ib: IbSettings,
    /// Time limit for ranks to meet, and for a message during a collective.
    pub patience: Duration,
    /// Ranks wait for one that has gone, as NCCL's do, until their queue pairs fail; otherwise they give up
    /// at once.
    pub keeps_waiting: bool,
    /// A profiler plugin for NCCL that each rank loads.
    pub profiler: Option<PathBuf>,
    /// Communicators and nodes.
    pub layout: Layout,
}

/// One rank's place in the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Rank number, from 0.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Number among the ranks of its host, which would be its GPU.
    pub local_rank: u32,
    /// The address it listens at and sends from: `NCCL_SOCKET_IFNAME`.
    pub address: IpAddr,
    /// The interface with this address.
    pub interface: String,
    /// The host as NCCL logs it. Each rank in a namespace of its own is a host.
    pub host: String,
    /// The store: `MASTER_ADDR` and `MASTER_PORT`. Rank 0 serves it.
    pub store: SocketAddr,
    /// Path of its log, as with `NCCL_DEBUG=INFO`, if it writes one.
    pub log: Option<PathBuf>,
}

/// The data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// NET/IB over an RDMA device of the system.
    Verbs,
    /// NET/IB over RoCEv2 in user space.
    Soft,
    /// NET/Socket: TCP.
    Socket,
}

/// The `NCCL_IB_*` settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IbSettings {
    /// `NCCL_IB_HCA`, as NCCL spells it.
    pub hca: Option<String>,
    /// `NCCL_IB_GID_INDEX`; `None` uses the RoCEv2 GID of the rank's address.
    pub gid_index: Option<u8>,
    /// `NCCL_IB_TC`: the byte with DSCP and ECN.
    pub traffic_class: u8,
    /// `NCCL_IB_QPS_PER_CONNECTION`
    pub queue_pairs: u32,
    /// `NCCL_IB_TIMEOUT`
    pub timeout: u8,
    /// `NCCL_IB_RETRY_CNT`
    pub retries: u8,
    /// Largest payload of a packet in bytes, for `soft`; a device has its own.
    pub mtu: u16,
    /// Path MTU of this rank's queue pairs, whatever both ends agreed on: a fault.
    pub forced_mtu: Option<u16>,
}

/// What the job reduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The operation.
    pub kind: Kind,
    /// Element type.
    pub data_type: DataType,
    /// Reduction.
    pub operator: Operator,
    /// The root of a Broadcast.
    pub root: u32,
    /// Sizes and repetitions.
    pub shape: Shape,
}

/// Sizes and repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// nccl-tests: each size by itself, `warmup` and then `iterations` times, out of place and in
    /// place.
    Sweep {
        /// Bytes, as nccl-tests counts them.
        sizes: Vec<u64>,
        /// Repetitions that are not measured.
        warmup: u32,
        /// Repetitions that are measured.
        iterations: u32,
    },
    /// A training job: compute, then reduce every bucket in place.
    Training {
        /// Bytes of each gradient bucket, in reduction order.
        buckets: Vec<u64>,
        /// Training steps that are not measured.
        warmup: u32,
        /// Training steps that are measured.
        iterations: u32,
        /// How long a rank computes before it reduces.
        compute: Duration,
        /// Random variation of the compute time, up or down.
        jitter: Duration,
    },
}
