//! What findings say of rendezvous, bootstrap and initialisation.

use std::net::{IpAddr, SocketAddr};

use crate::analysis::finding::naming::Among;
use crate::link::job::Identity;

/// How a job comes up, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupClaim {
    /// Connections to a master were asked for, and none was accepted.
    MasterUnreachable {
        /// Where it should listen.
        server: SocketAddr,
        /// Who asked.
        clients: Among<IpAddr>,
        /// How often, all together.
        syns: u64,
        /// It was answered with RST.
        is_refused: bool,
    },
    /// Ranks did not check in at the root.
    RanksMissing {
        /// Their communicator.
        communicator: Option<Identity>,
        /// Ranks that did not check in.
        missing: Vec<u32>,
        /// Ranks of the communicator.
        nranks: u32,
    },
    /// Ranks logged the start of their initialisation but not its end.
    InitIncomplete {
        /// Their communicator.
        communicator: Option<Identity>,
        /// Ranks that started.
        begun: Vec<u32>,
        /// Ranks that logged nothing, if several others started.
        silent: Vec<u32>,
    },
    /// The gathers at the root took long.
    SlowBootstrap {
        /// The communicator.
        communicator: Option<Identity>,
        /// From the first check-in to the last gather.
        took_ns: u64,
        /// Who checked in last.
        last: Option<RankOnHost>,
    },
    /// A rank logged that its bootstrap took long.
    SlowInit {
        /// The communicator.
        communicator: Option<Identity>,
        /// The rank that took longest.
        slowest: RankOnHost,
        /// How long.
        took_ns: u64,
        /// It mostly waited to receive.
        is_kept_waiting: bool,
        /// Who waited least, and so came last, where all ranks say how long it took.
        last: Option<RankOnHost>,
    },
}

/// A rank, and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOnHost {
    /// The rank.
    pub rank: u32,
    /// Its host's name, or address.
    pub host: Option<String>,
}
