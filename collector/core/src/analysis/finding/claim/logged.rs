//! Statements of findings about what logs say: causes that a line names, and contradictions between
//! processes.

use crate::link::job::Identity;

/// A statement about lines of logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedClaim {
    /// Lines that prove a cause.
    Cause {
        /// What is wrong.
        what: &'static str,
        /// Hosts that wrote such lines; none if the lines do not name them.
        hosts: Vec<String>,
        /// Number of such lines.
        lines: u64,
        /// Environment variables that belong to it, with their values.
        settings: Vec<(String, String)>,
        /// The first line, without prefix.
        quote: String,
    },
    /// Ranks of a process group timed out in a collective.
    TimedOut {
        /// The process group; empty if not named.
        group: String,
        /// Ranks that are furthest behind, with their collective.
        behind: Standing,
        /// The foremost of the others; `None` if all that reported are in the same collective.
        ahead: Option<Standing>,
        /// How long it ran, in milliseconds.
        ran_ms: Option<u64>,
        /// Ranks of the group that report nothing, where most do.
        absent: Vec<u32>,
        /// RAS answered, and no rank was behind.
        is_even: bool,
        /// It carries one element.
        is_one_value: bool,
        /// The limit is the one that PyTorch sets by itself.
        is_own_limit: bool,
    },
    /// Data between GPU and NIC goes through the host's memory.
    WithoutGpuDirect {
        /// Devices.
        devices: Vec<String>,
        /// Hosts.
        hosts: Vec<String>,
        /// The reason in the log.
        reason: Option<String>,
    },
    /// Processes of one job use different networks.
    NetworksDiffer {
        /// Network, and hosts of the processes that use it.
        networks: Vec<(String, Vec<String>)>,
    },
    /// A process uses InfiniBand and RoCE ports at once.
    LinkLayersMixed {
        /// Ports of InfiniBand.
        infiniband: Vec<String>,
        /// Ports of RoCE.
        roce: Vec<String>,
        /// Hosts.
        hosts: Vec<String>,
    },
    /// Processes run different releases of NCCL.
    ReleasesDiffer {
        /// Release, and hosts of the processes that run it.
        releases: Vec<(String, Vec<String>)>,
    },
    /// Hosts differ.
    HostsDiffer {
        /// In what.
        what: &'static str,
        /// The value, and the hosts that have it.
        values: Vec<(String, Vec<String>)>,
    },
    /// An interface that stays on the host, or has a link-local address.
    OddInterface {
        /// Their names.
        interfaces: Vec<String>,
        /// Hosts.
        hosts: Vec<String>,
    },
    /// A call failed, and nothing says why.
    CallFailed {
        /// Hosts.
        hosts: Vec<String>,
        /// File and line.
        place: String,
        /// The error.
        error: String,
    },
    /// The initialisation took long, and not the bootstrap.
    SlowInitialisation {
        /// The communicator.
        communicator: Option<Identity>,
        /// The slowest rank.
        rank: u32,
        /// Its host.
        host: String,
        /// In all, in nanoseconds.
        took_ns: u64,
        /// The longest part, and its nanoseconds.
        longest: Option<(String, u64)>,
    },
}

/// Ranks in one collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The ranks.
    pub ranks: Vec<u32>,
    /// The collective's name, if known.
    pub call: Option<String>,
    /// Its number in the process group.
    pub number: Option<u64>,
}
