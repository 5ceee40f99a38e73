//! Statements of findings about rendezvous, bootstrap and initialisation.

use std::net::{IpAddr, SocketAddr};

use crate::analysis::bootstrap::MissingRanks;
use crate::analysis::finding::naming::Among;
use crate::link::job::Identity;

/// A statement about how a job starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupClaim {
    /// Clients tried to connect to a master, which accepted none.
    MasterUnreachable {
        /// Address at which the master should listen.
        server: SocketAddr,
        /// The only client, or the number of clients.
        clients: Among<IpAddr>,
        /// SYNs of all clients.
        syns: u64,
        /// The SYNs were answered with RST.
        is_refused: bool,
    },
    /// Ranks did not check in at the root.
    RanksMissing {
        /// Their communicator.
        communicator: Option<Identity>,
        /// Ranks that did not check in.
        missing: MissingRanks,
        /// Ranks of the communicator.
        nranks: u32,
    },
    /// Workers wait at the store for what nobody wrote.
    WaitAtStore {
        /// Where the store listens.
        store: SocketAddr,
        /// The key that they wait for.
        key: String,
        /// The only host that waits, or the number of hosts.
        waiting: Among<IpAddr>,
        /// From the first request to the end, in nanoseconds.
        silence_ns: u64,
    },
    /// Ranks logged the start of their initialisation but not its end.
    InitIncomplete {
        /// Their communicator.
        communicator: Option<Identity>,
        /// Ranks that started.
        begun: Vec<u32>,
        /// Ranks that logged nothing, if several others started.
        silent: MissingRanks,
    },
    /// The gathers at the root took long.
    SlowBootstrap {
        /// The communicator that was set up.
        communicator: Option<Identity>,
        /// From the first check-in to the last gather.
        took_ns: u64,
        /// The rank that checked in last.
        last: Option<RankOnHost>,
    },
    /// A rank logged that its bootstrap took long.
    SlowInit {
        /// The communicator that was set up.
        communicator: Option<Identity>,
        /// The rank with the longest bootstrap.
        slowest: RankOnHost,
        /// Its duration, in nanoseconds.
        took_ns: u64,
        /// It spent most of that waiting to receive.
        is_kept_waiting: bool,
        /// The rank that waited least, and so came last; known if all ranks log their times.
        last: Option<RankOnHost>,
    },
}

/// Names a rank so that an operator finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOnHost {
    /// Rank in the claim's communicator.
    pub rank: u32,
    /// Name or address of its host.
    pub host: Option<String>,
}
