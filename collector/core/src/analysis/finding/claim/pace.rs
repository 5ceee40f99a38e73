//! What findings say of the pace of ranks, rings and paths.

use std::net::IpAddr;

use crate::analysis::straggler::Cause;
use crate::link::job::Identity;

/// Who or what keeps a job back.
#[derive(Clone, Debug, PartialEq)]
pub enum PaceClaim {
    /// Others waited for a rank.
    Straggler {
        /// The rank.
        rank: u32,
        /// Its host.
        host: Option<String>,
        /// Collectives in which they did.
        collectives: u64,
        /// Training steps that these are of; 0 if none is known.
        iterations: u64,
        /// How long, all together.
        total_ns: u64,
        /// How long at once.
        most_ns: u64,
        /// Why it was late.
        cause: Cause,
    },
    /// A collective does not end.
    Stalled {
        /// Its communicator.
        communicator: Option<Identity>,
        /// Who keeps the others.
        suspects: Suspects,
        /// How long nothing moved.
        silence_ns: u64,
    },
    /// Rings change hosts more often than they must.
    RingCrossings {
        /// The communicator.
        communicator: Option<Identity>,
        /// Changes of the worst ring.
        crossings: u64,
        /// Changes that would do.
        needed: u64,
        /// Channels whose ring does.
        rings: u64,
        /// All channels.
        channels: u64,
    },
    /// Messages between two ports are slow.
    SlowPath {
        /// Where they come from.
        sender: IpAddr,
        /// Where they go.
        receiver: IpAddr,
        /// The ranks that send and receive them.
        ranks: Option<(u32, u32)>,
        /// Median rate, in bits per second.
        rate_bps: f64,
        /// Median rate elsewhere.
        others_bps: f64,
    },
    /// Rails carry very different loads.
    UnevenRails {
        /// The fullest.
        rail: u32,
        /// What it carries.
        load: Load,
    },
    /// Parallel uplinks carry very different loads.
    HotUplink {
        /// The fullest.
        name: String,
        /// What it carries.
        load: Load,
    },
}

/// Who keeps the others of a collective that does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspects {
    /// Ranks that neither sent nor asked for data.
    NeverPosted(Vec<u32>),
    /// Ranks that sent less than others.
    NeverSent(Vec<u32>),
    /// Unknown.
    Unknown,
}

/// What the fullest of parallel paths carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Its bytes.
    pub bytes: u64,
    /// The bytes of all.
    pub of_bytes: u64,
    /// How many there are.
    pub paths: u64,
    /// Jain's fairness index of all.
    pub jain_index: f64,
}
