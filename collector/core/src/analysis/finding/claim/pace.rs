//! Statements of findings about the pace of ranks, rings and paths.

use std::net::IpAddr;

use crate::analysis::straggler::Cause;
use crate::link::job::Identity;

/// A statement about the pace of ranks, rings and paths.
#[derive(Clone, Debug, PartialEq)]
pub enum PaceClaim {
    /// Other ranks waited for one rank.
    Straggler {
        /// The rank that the others waited for.
        rank: u32,
        /// Its host, if known.
        host: Option<String>,
        /// Collectives in which the others waited.
        collectives: u64,
        /// Training steps of these collectives; 0 if none is known.
        iterations: u64,
        /// Sum of the waits, in nanoseconds.
        total_ns: u64,
        /// Longest wait, in nanoseconds.
        most_ns: u64,
        /// Why it was late.
        cause: Cause,
    },
    /// A collective did not end.
    Stalled {
        /// The communicator of the collective.
        communicator: Option<Identity>,
        /// The ranks that the others wait for.
        suspects: Suspects,
        /// Time without data, in nanoseconds.
        silence_ns: u64,
    },
    /// Data of NET/Socket stands still.
    SocketStalled {
        /// The communicator of the connection.
        communicator: Option<Identity>,
        /// The end that sends, and its rank.
        sender: (IpAddr, Option<u32>),
        /// The end that receives, and its rank.
        receiver: (IpAddr, Option<u32>),
        /// How often data was sent again without an answer; 0 where the receiver takes none.
        tries: u64,
        /// For how long, in nanoseconds.
        silence_ns: u64,
    },
    /// Rings change hosts more often than necessary.
    RingCrossings {
        /// The communicator that the rings belong to.
        communicator: Option<Identity>,
        /// Host changes of the worst ring.
        crossings: u64,
        /// Host changes that are necessary.
        needed: u64,
        /// Channels whose ring has too many.
        rings: u64,
        /// All channels.
        channels: u64,
    },
    /// Messages between two ports are slow.
    SlowPath {
        /// Sending port.
        sender: IpAddr,
        /// Receiving port.
        receiver: IpAddr,
        /// The sending and the receiving rank.
        ranks: Option<(u32, u32)>,
        /// Median rate, in bits per second.
        rate_bps: u64,
        /// Median rate of the other paths, in bits per second.
        others_bps: u64,
    },
    /// Rails carry very different loads.
    UnevenRails {
        /// The rail with the most load.
        rail: u32,
        /// Its bytes against all rails'.
        load: Load,
    },
    /// Parallel uplinks carry very different loads.
    HotUplink {
        /// The uplink with the most load.
        name: String,
        /// Its bytes against all parallel uplinks'.
        load: Load,
    },
}

/// The ranks that hold up a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspects {
    /// Ranks that neither sent nor requested data.
    NeverPosted(Vec<u32>),
    /// Ranks that sent less than others.
    NeverSent(Vec<u32>),
    /// No rank stands out.
    Unknown,
}

impl Suspects {
    /// The ranks; none if unknown.
    #[must_use]
    pub fn ranks(&self) -> &[u32] {
        match self {
            Self::NeverPosted(ranks) | Self::NeverSent(ranks) => ranks,
            Self::Unknown => &[],
        }
    }
}

/// Load of the fullest of several parallel paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Bytes on the fullest path.
    pub bytes: u64,
    /// Bytes on all paths.
    pub of_bytes: u64,
    /// Number of paths.
    pub paths: u64,
    /// Jain's fairness index over all paths.
    pub jain_index: f64,
}
