//! Stragglers: which rank others waited for in a collective, and why.
//!
//! The costliest candidate of a collective is named, if it cost enough (`threshold.rs`): a rank
//! that sent late (`late.rs`), one inside a node that owns no edge (`hidden.rs`), a connection that
//! lost packets or was slowed down (`network.rs`), a rank that took data slowly (`receiver.rs`).
//! `cause.rs` distinguishes a late CPU from a late GPU. Half the threshold is enough for a rank
//! that is late in the training steps around as well (`persistent.rs`). `within.rs` names the rank
//! that a training step waited for. `own_time.rs` measures each rank without comparing it, so that
//! hosts can be compared later.

pub mod cause;
pub mod hidden;
pub mod late;
pub mod network;
pub mod own_time;
pub mod persistent;
pub mod receiver;
pub mod search;
pub mod sign;
pub mod threshold;
pub mod within;

use self::sign::Sign;
use super::collective::Collective;
use super::wait::CollectiveWaits;
use crate::link::job::{Job, NetConnectionId};
use crate::model::grade::Grade;

/// Who cost most in a collective, and what a straggler costs at least there.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The candidate.
    pub straggler: Straggler,
    /// Nanoseconds.
    pub least_ns: u64,
}

/// One collective to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The job.
    pub job: &'a Job,
    /// The collective.
    pub collective: &'a Collective,
    /// Its waits.
    pub waits: &'a CollectiveWaits,
}

/// A rank that others waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Straggler {
    /// The rank, in the collective's communicator.
    pub rank: u32,
    /// How long the others waited for it.
    pub lag_ns: u64,
    /// Why it was late.
    pub cause: Cause,
    /// The connection where it shows best.
    pub connection: Option<NetConnectionId>,
    /// Confidence in rank and cause.
    pub grade: Grade,
    /// Evidence, the strongest first.
    pub evidence: Vec<Sign>,
}

/// Why a rank was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its CPU called the collective late: data loader, checkpoint, Python.
    Enqueue,
    /// Its GPU came late, though the collective had been called.
    Compute,
    /// It sent late; whether CPU or GPU is unknown.
    Sender,
    /// It took data slowly.
    Receiver,
    /// Congestion in the fabric.
    Congestion,
    /// Packets were lost and retransmitted.
    Loss,
    /// Pause frames stopped it. Reserved: no rule concludes it yet.
    Pause,
    /// Its data went over TCP. Reserved: no rule concludes it yet.
    Socket,
    /// Unknown.
    Unknown,
}

impl Cause {
    /// Whether the rank itself came late.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Enqueue | Self::Compute | Self::Sender)
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Compute => "compute",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Congestion => "congestion",
            Self::Loss => "loss",
            Self::Pause => "pause",
            Self::Socket => "socket",
            Self::Unknown => "unknown",
        }
    }
}
