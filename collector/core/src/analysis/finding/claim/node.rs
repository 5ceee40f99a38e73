//! Statements of findings about nodes and benchmarks, as outputs of other tools show them.

use crate::analysis::severity::Severity;
use crate::model::node::{Distance, Totals};

/// A statement about a node or a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeClaim {
    /// Ports whose packets cannot be routed.
    NoRoutableGid {
        /// The node.
        host: Option<String>,
        /// Ports without a routable RoCE v2 GID: `mlx5_0 (ens1f0)`.
        ports: Vec<String>,
        /// Ports with one, and its index.
        routable: Vec<(String, u32)>,
        /// Indices that no port of `ports` has, of those that people use (3).
        missing_index: Option<u32>,
    },
    /// Some of a node's RDMA ports are down.
    PortsDown {
        /// The node.
        host: Option<String>,
        /// Ports that are down.
        down: Vec<String>,
        /// Ports that are up.
        up: Vec<String>,
    },
    /// InfiniBand ports wait for a subnet manager.
    NoSubnetManager {
        /// The node.
        host: Option<String>,
        /// These ports.
        ports: Vec<String>,
    },
    /// Ports are slower than others of their kind.
    PortSlower {
        /// The node.
        host: Option<String>,
        /// These ports, with their rates in bits per second.
        ports: Vec<(String, u64)>,
        /// The rate of the others, bits per second.
        usual_bps: u64,
        /// How many others.
        twins: u64,
    },
    /// A node has InfiniBand and RoCE ports.
    LinkLayersMixed {
        /// The node.
        host: Option<String>,
        /// Ports of InfiniBand that are up.
        infiniband: Vec<String>,
        /// Ports of RoCE that are up.
        roce: Vec<String>,
    },
    /// Ports with a small path MTU.
    SmallMtu {
        /// The node.
        host: Option<String>,
        /// Ports, with the path MTU in use.
        ports: Vec<(String, u32)>,
        /// Largest path MTU of these devices.
        possible: u32,
    },
    /// Interfaces that no priority flow control protects.
    PfcOff {
        /// The node.
        host: Option<String>,
        /// Names of the interfaces, where known.
        interfaces: Vec<String>,
        /// They trust the PCP, so a DSCP chooses no priority.
        trusts_pcp: bool,
    },
    /// Interfaces have different settings for priorities.
    QosDiffers {
        /// What differs: `PFC`, `trust`, `DSCP map`.
        what: &'static str,
        /// Each value, and the interfaces that have it.
        values: Vec<(String, Vec<String>)>,
    },
    /// A NIC dropped what it received.
    HostDrops {
        /// When it was counted.
        period: Period,
        /// The NIC, where known.
        device: Option<String>,
        /// Counters above 0.
        counters: Vec<(String, u64)>,
        /// Packets received.
        received: Option<u64>,
    },
    /// A cloud instance went beyond what its size allows.
    AllowanceExceeded {
        /// When it was counted.
        period: Period,
        /// The NIC, where known.
        device: Option<String>,
        /// Counters above 0.
        counters: Vec<(String, u64)>,
    },
    /// Requests failed, or found no receive posted.
    RequestErrors {
        /// When it was counted.
        period: Period,
        /// The NIC, where known.
        device: Option<String>,
        /// What was counted, and how often.
        counters: Vec<(String, u64)>,
        /// Completions with an error that is no consequence of another.
        failed: u64,
    },
    /// A port sent more pause than it received.
    PauseSent {
        /// When it was counted.
        period: Period,
        /// The NIC, where known.
        device: Option<String>,
        /// The priority; `None` for global pause.
        priority: Option<u8>,
        /// Pauses sent.
        sent: u64,
        /// Pauses received.
        received: u64,
    },
    /// GPUs whose nearest NIC is far away.
    FarFromNic {
        /// The node.
        host: Option<String>,
        /// GPUs, with the nearest NIC.
        gpus: Vec<(String, String)>,
        /// How far the nearest NIC of these is.
        distance: Distance,
    },
    /// Libfabric offers no provider that was asked for, or none for the devices that are there.
    NoProvider {
        /// The node.
        host: Option<String>,
        /// The provider that is missing, where known.
        missing: Option<String>,
        /// Those that were listed.
        listed: Vec<String>,
        /// Devices that it would serve.
        devices: Vec<String>,
    },
    /// No channel of NCCL uses a NIC.
    NicsUnused {
        /// The node.
        host: Option<String>,
        /// NICs that no channel uses.
        unused: Vec<String>,
        /// NICs that channels use.
        used: Vec<String>,
        /// Channels of the ring.
        channels: u64,
    },
    /// NCCL's channels reach NICs over a long path.
    GraphFar {
        /// The node.
        host: Option<String>,
        /// The worst path, as NCCL calls it.
        path: String,
        /// Channels of the ring.
        channels: u64,
    },
    /// A benchmark reaches less than the network could carry.
    BandwidthLow {
        /// What ran.
        operation: String,
        /// Ranks.
        nranks: Option<u32>,
        /// Size with the highest bus bandwidth.
        bytes: u64,
        /// That bandwidth, bytes per second.
        bus_bandwidth: u64,
        /// Line rate, bits per second.
        line_rate_bps: u64,
    },
    /// A benchmark found wrong values.
    WrongValues {
        /// What ran.
        operation: String,
        /// Wrong values.
        wrong: u64,
        /// The first size with such values.
        bytes: u64,
    },
}

/// When counters counted something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Some time since boot or reset.
    SinceBoot,
    /// Between two readings.
    BetweenReadings,
}

impl Period {
    /// When `totals` counted.
    #[must_use]
    pub const fn of(totals: &Totals) -> Self {
        match totals.before {
            Some(_) => Self::BetweenReadings,
            None => Self::SinceBoot,
        }
    }

    /// How bad trouble in it is: what was counted since boot may be of last month.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::SinceBoot => Severity::Info,
            Self::BetweenReadings => Severity::Warning,
        }
    }
}
