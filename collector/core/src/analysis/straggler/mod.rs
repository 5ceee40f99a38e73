//! Stragglers: which rank others waited for in a collective, and why.
//!
//! The straggler of a collective is the candidate with the largest lag, if that exceeds the threshold
//! (`threshold.rs`): a rank that sent late (`late.rs`), a rank without an edge inside a node
//! (`hidden.rs`), a connection that lost packets, was slowed down or paused (`network.rs`), a rank that
//! accepted data slowly (`receiver.rs`), a path over TCP on which data took long (`socket.rs`; for the
//! last two, `neighbour.rs` asks the collectives before and after). `cause.rs` distinguishes a late CPU from a late GPU. Half
//! the threshold is enough for a rank that is also late in the surrounding training steps
//! (`persistent.rs`). `within.rs` finds the straggler of a training step. `significant.rs` tests,
//! over many training steps (`unit.rs`, `chance.rs`), which ranks are late by more than chance
//! explains, `hold_up.rs` finds those that seldom were but cost most of the time; `jitter.rs` measures
//! what varies by chance. `own_time.rs` measures each rank without comparing it, so that hosts can be
//! compared later.
//!
//! `contribution.rs` says what each cause added to a collective, `room.rs` what waiting for room at a
//! rank did, and `lost_control.rs` what lost ACKs and clear-to-sends did.

pub mod cause;
pub mod chance;
pub mod contribution;
pub mod hidden;
pub mod hold_up;
pub mod jitter;
pub mod late;
pub mod lost_control;
pub mod neighbour;
pub mod network;
pub mod own_time;
pub mod persistent;
pub mod receiver;
pub mod room;
pub mod search;
pub mod sign;
pub mod significant;
pub mod socket;
pub mod threshold;
pub mod unit;
pub mod within;

use self::sign::Sign;
use super::collective::Collective;
use super::wait::CollectiveWaits;
use crate::link::job::{Job, NetConnectionId};
use crate::model::grade::Grade;

/// The rank that cost most in a collective, and the smallest lag that counts there.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What would be reported.
    pub straggler: Straggler,
    /// Smallest lag that counts in this collective, in nanoseconds.
    pub least_ns: u64,
}

/// One collective to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Names the ranks and connections.
    pub job: &'a Job,
    /// When ranks and connections took part.
    pub collective: &'a Collective,
    /// Where its time went.
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
    /// The connection that shows it best.
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
    /// Its GPU was late, although the collective had been called on time.
    Compute,
    /// It sent late; whether CPU or GPU is unknown.
    Sender,
    /// It accepted data slowly.
    Receiver,
    /// Congestion in the fabric.
    Congestion,
    /// Packets were lost and retransmitted.
    Loss,
    /// Pause frames stopped it.
    Pause,
    /// Its data went over TCP (NET/Socket), and took longer than data of others.
    Socket,
    /// The evidence does not tell causes apart.
    Unknown,
}

impl Cause {
    /// Whether the rank itself was late.
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
