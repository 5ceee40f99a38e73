//! What findings say of the network that carries a job's data, and of sources that contradict each
//! other about it.

use crate::analysis::finding::naming::Among;
use crate::link::job::Identity;

/// Which network a job uses, and what NCCL says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkClaim {
    /// Logs say that data goes over NET/Socket.
    SocketChosen {
        /// Name and process id of the only one, or how many.
        processes: Among<(String, u32)>,
        /// Why nothing better was taken.
        reason: SocketReason,
    },
    /// Data was captured on NET/Socket.
    SocketSeen {
        /// The communicator.
        communicator: Option<Identity>,
        /// Its ranks.
        ranks: Vec<u32>,
        /// What was sent.
        bytes: u64,
    },
    /// Warnings and errors in NCCL's logs.
    Warned {
        /// Warnings of one cause.
        warnings: u64,
        /// Host of the only process, or how many.
        hosts: Among<String>,
        /// The first.
        first: String,
    },
    /// The plugin for EFA could not be used.
    EfaFailed {
        /// Its release.
        release: String,
        /// Host of the only process, or how many.
        hosts: Among<String>,
        /// What the log says.
        reason: Option<String>,
    },
    /// Data goes over EFA.
    OnEfa {
        /// In so many processes.
        processes: u64,
    },
    /// Another interface, address or device than was expected.
    Unexpected {
        /// What is not as expected.
        odd: OddNetwork,
        /// Host of the only rank, or how many.
        hosts: Among<String>,
        /// What was expected: one of these.
        expected: Vec<String>,
    },
    /// The log says NET/IB, and data was captured on NET/Socket.
    SocketDespiteIb {
        /// The communicator.
        communicator: Option<Identity>,
        /// Its connections.
        connections: u64,
    },
    /// The log says NET/IB, and no NIC moved RDMA.
    NoRdmaBytes {
        /// NICs with counters.
        nics: u64,
        /// For so long.
        still_ns: u64,
    },
    /// Logs contradict captures.
    Contradictions {
        /// How often.
        count: u64,
        /// The first.
        first: Contradiction,
    },
    /// Queue pairs are ready, and no tap sees a packet of them.
    RdmaNotVisible {
        /// The communicator.
        communicator: Option<Identity>,
        /// Its queue pairs.
        queue_pairs: u64,
        /// Its ranks that have them.
        ranks: u64,
        /// Taps that see none.
        taps: u64,
    },
}

/// Why a process took NET/Socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketReason {
    /// These networks failed.
    Failed(Vec<NetworkFailure>),
    /// Its environment says so.
    Disabled,
    /// The log does not say.
    Unknown,
}

/// A network that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkFailure {
    /// Its name.
    pub name: String,
    /// What the log says.
    pub reason: Option<String>,
}

/// What is not as expected, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OddNetwork {
    /// What.
    pub what: NetworkPart,
    /// Its name or address.
    pub found: String,
}

/// What may be expected of a rank's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkPart {
    /// An RDMA device.
    Hca,
    /// The address of the bootstrap.
    BootstrapAddress,
    /// The interface of the bootstrap.
    BootstrapInterface,
}

/// What a capture and a log say of the same rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The rank.
    pub rank: u32,
    /// What of it.
    pub what: &'static str,
    /// What was captured.
    pub captured: String,
    /// What the log says.
    pub logged: String,
}
