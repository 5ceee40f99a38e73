//! What a rank shall do: the wire format, the transport, and a workload.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::collective::{DataType, Kind, Operator};
use super::fault::Fault;
use super::release::Release;

/// A job, the same for all of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Whose formats it speaks.
    pub release: Release,
    /// What carries data.
    pub transport: Transport,
    /// Rings that share each collective: `NCCL_MAX_NCHANNELS`.
    pub channels: u32,
    /// What is reduced, in which sizes, how often.
    pub workload: Workload,
    /// Whether results are compared with what they must be.
    pub check: bool,
    /// Of jitter and of faults that are left to chance: the same seed, the same choices.
    pub seed: u64,
    /// Trouble on purpose.
    pub faults: Vec<Fault>,
    /// NET/IB's settings.
    pub ib: IbSettings,
    /// How long ranks wait for each other while they meet, and for a message while they work.
    pub patience: Duration,
}

/// One rank's place in the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// From 0.
    pub rank: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// Place among the ranks of its host; its GPU, were there one.
    pub local_rank: u32,
    /// The address it listens at and sends from: `NCCL_SOCKET_IFNAME`.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: String,
    /// The host, as NCCL would log it. Ranks of one namespace each are hosts of their own.
    pub host: String,
    /// The store: `MASTER_ADDR` and `MASTER_PORT`. Rank 0 serves it.
    pub store: SocketAddr,
    /// Where its log goes, as with `NCCL_DEBUG=INFO`; `None`: nowhere.
    pub log: Option<PathBuf>,
}

/// What carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// NET/IB over an RDMA device of the system.
    Verbs,
    /// NET/IB over RoCEv2 in user space.
    Soft,
    /// NET/Socket: TCP.
    Socket,
}

/// `NCCL_IB_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IbSettings {
    /// `NCCL_IB_HCA`, as NCCL spells it.
    pub hca: Option<String>,
    /// `NCCL_IB_GID_INDEX`; else the RoCEv2 GID of the rank's address.
    pub gid_index: Option<u8>,
    /// `NCCL_IB_TC`: the byte of DSCP and ECN.
    pub traffic_class: u8,
    /// `NCCL_IB_QPS_PER_CONNECTION`
    pub queue_pairs: u32,
    /// `NCCL_IB_TIMEOUT`
    pub timeout: u8,
    /// `NCCL_IB_RETRY_CNT`
    pub retries: u8,
    /// Largest payload of one packet, bytes; `soft` only, a device has its own.
    pub mtu: u16,
}

/// What is reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The operation.
    pub kind: Kind,
    /// Of numbers of this type.
    pub data_type: DataType,
    /// Reduced this way.
    pub operator: Operator,
    /// The root of a Broadcast.
    pub root: u32,
    /// In this order.
    pub shape: Shape,
}

/// In which sizes and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// nccl-tests: each size alone, `warmup` and then `iterations` times, out of place and in place.
    Sweep {
        /// Bytes, as nccl-tests counts them.
        sizes: Vec<u64>,
        /// Not counted.
        warmup: u32,
        /// Counted.
        iterations: u32,
    },
    /// A training job: compute, then every bucket, in place.
    Training {
        /// Bytes of each gradient bucket, in the order they are reduced.
        buckets: Vec<u64>,
        /// Not counted.
        warmup: u32,
        /// Counted.
        iterations: u32,
        /// How long a rank computes before it reduces.
        compute: Duration,
        /// Up to this much more or less, by chance.
        jitter: Duration,
    },
}

/// Training steps that a fault concerns, from 0, warm-up not counted.
pub type Iterations = Range<u32>;
