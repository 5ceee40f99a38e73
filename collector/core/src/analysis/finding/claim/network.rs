//! Statements of findings about the network that carries a job's data, and about sources that
//! contradict each other.

use crate::analysis::finding::naming::Among;
use crate::link::job::Identity;

/// A statement about the network that a job uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkClaim {
    /// Logs show that data goes over NET/Socket.
    SocketChosen {
        /// Name and process id of the only process, or the number of processes.
        processes: Among<(String, u32)>,
        /// Their hosts.
        hosts: Vec<String>,
        /// Why NCCL chose NET/Socket.
        reason: SocketReason,
        /// Whether it sends to other hosts.
        reach: Reach,
        /// The interface, if it is IP over InfiniBand.
        ipoib: Option<String>,
    },
    /// Data was captured on NET/Socket.
    SocketSeen {
        /// The communicator whose data it is.
        communicator: Option<Identity>,
        /// Its ranks with data on NET/Socket.
        ranks: Vec<u32>,
        /// Bytes sent.
        bytes: u64,
    },
    /// Warnings and errors in NCCL's logs.
    Warned {
        /// Warnings of one cause.
        warnings: u64,
        /// Host of the only process, or the number of processes.
        hosts: Among<String>,
        /// Text of the first warning.
        first: String,
    },
    /// The plugin for EFA could not be used.
    EfaFailed {
        /// Release of aws-ofi-nccl.
        release: String,
        /// Host of the only process, or the number of processes.
        hosts: Among<String>,
        /// The reason in the log.
        reason: Option<String>,
    },
    /// Data goes over EFA.
    OnEfa {
        /// Processes that use EFA.
        processes: u64,
    },
    /// An unexpected interface, address or device.
    Unexpected {
        /// What was found.
        odd: OddNetwork,
        /// Host of the only rank, or the number of ranks.
        hosts: Among<String>,
        /// The expected names or addresses.
        expected: Vec<String>,
    },
    /// The log shows NET/IB, but data was captured on NET/Socket.
    SocketDespiteIb {
        /// The communicator whose data it is.
        communicator: Option<Identity>,
        /// Connections on NET/Socket.
        connections: u64,
    },
    /// The log shows NET/IB, but no NIC moved RDMA data.
    NoRdmaBytes {
        /// NICs with counters.
        nics: u64,
        /// How long the RDMA counters did not grow.
        still_ns: u64,
    },
    /// Logs and captures contradict each other.
    Contradictions {
        /// Number of contradictions.
        count: u64,
        /// The one to cite.
        first: Contradiction,
    },
    /// Queue pairs are ready, but no tap captured a packet of them.
    RdmaNotVisible {
        /// The communicator that they serve.
        communicator: Option<Identity>,
        /// Its queue pairs that are ready.
        queue_pairs: u64,
        /// Its ranks with such queue pairs.
        ranks: u64,
        /// Number of taps.
        taps: u64,
    },
}

/// Whether ranks of a process's communicators are on other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// All are on its host.
    Within,
    /// The log does not show it.
    Unknown,
    /// It has connections over a network, which most likely lead to other hosts.
    Likely,
    /// Some are on other hosts.
    Across,
}

/// Why a process uses NET/Socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketReason {
    /// Other networks failed.
    Failed(Vec<NetworkFailure>),
    /// Its environment disables the others.
    Disabled,
    /// The log gives no reason.
    Unknown,
}

/// A network that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkFailure {
    /// Name of the network: `IB`, `Socket`, or the plugin's.
    pub name: String,
    /// The reason in the log.
    pub reason: Option<String>,
}

/// An unexpected part of the network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OddNetwork {
    /// Which part.
    pub what: NetworkPart,
    /// Its name or address.
    pub found: String,
}

/// Parts of a rank's network for which the settings may name a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkPart {
    /// An RDMA device.
    Hca,
    /// The address that the control plane uses.
    BootstrapAddress,
    /// The interface that the control plane uses.
    BootstrapInterface,
}

/// A contradiction between a capture and a log about one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The rank whose facts differ.
    pub rank: u32,
    /// The fact that differs.
    pub what: &'static str,
    /// Its value in the capture.
    pub captured: String,
    /// Its value in the log.
    pub logged: String,
}
