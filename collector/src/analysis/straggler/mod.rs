//! Stragglers: which rank others waited for in a collective, and why.

use crate::link::job::NetConnectionId;
use crate::model::grade::Grade;
use crate::model::witness::Witness;

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
    /// How sure rank and cause are.
    pub grade: Grade,
    /// Reasons, the strongest first.
    pub evidence: Vec<Sign>,
}

/// Why a rank was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its CPU called the collective late: data loader, checkpoint, Python.
    Enqueue,
    /// Its GPU came late, though the collective had been called.
    Compute,
    /// It sent late; nothing tells whether CPU or GPU.
    Sender,
    /// It took data slowly.
    Receiver,
    /// Congestion in the fabric.
    Congestion,
    /// Packets were lost and sent again.
    Loss,
    /// Pause frames stopped it.
    Pause,
    /// Its data went over TCP.
    Socket,
    /// Nothing tells.
    Unknown,
}

/// What a straggler was told by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// What it is: a name from a fixed list, as the report has it.
    pub kind: &'static str,
    /// What it says, in words with numbers.
    pub text: String,
    /// The frame or line that shows it best.
    pub witness: Option<Witness>,
}

impl Cause {
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
