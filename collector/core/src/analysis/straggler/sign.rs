//! Signs that a rank is a straggler.

use crate::model::witness::Witness;

/// A reason to name a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// Its kind and figures.
    pub kind: SignKind,
    /// The frame or line that shows it best.
    pub witness: Option<Witness>,
}

/// Kinds of signs. Times of other ranks are lower medians.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignKind {
    /// It had a receive buffer and had finished the previous collective, but did not send.
    StartWait {
        /// The straggler.
        rank: u32,
        /// How long it waited.
        own_ns: u64,
        /// How long others waited.
        others_ns: u64,
    },
    /// From its last data of the previous collective to its first of this one.
    BusyTime {
        /// How long it took.
        own_ns: u64,
        /// How long others took.
        others_ns: u64,
    },
    /// From the end of the previous collective to its first clear-to-send.
    FirstClearToSend {
        /// The straggler.
        rank: u32,
        /// How long it took.
        own_ns: u64,
        /// How long others took.
        others_ns: u64,
        /// The collective was called late.
        is_late: bool,
    },
    /// Connections stopped where they would if this rank were late.
    StallIndex {
        /// The straggler.
        rank: u32,
        /// Connections that stopped there.
        stopped: u64,
        /// Connections that stopped at all.
        connections: u64,
        /// For how long on average.
        mean_ns: u64,
    },
    /// A connection recovered from loss.
    Recovery {
        /// The rank that sends.
        sender: u32,
        /// The rank that receives.
        receiver: u32,
        /// How long that took.
        recovery_ns: u64,
        /// How long that delayed data.
        delay_ns: u64,
        /// Retransmitted packets.
        resent: u64,
    },
    /// Data took longer than while nothing was marked.
    Rate {
        /// The rank that sends.
        sender: u32,
        /// The rank that receives.
        receiver: u32,
        /// How long it took.
        data_ns: u64,
        /// How long the same number of bytes usually takes.
        usual_ns: u64,
        /// CE marks; `None` if no tap sees them.
        marks: Option<u64>,
        /// CNPs; `None` if no tap sees them.
        cnps: Option<u64>,
    },
    /// The sender of a connection was paused while it had something to send.
    Paused {
        /// The rank that sends.
        sender: u32,
        /// The rank that receives.
        receiver: u32,
        /// For how long.
        paused_ns: u64,
        /// Pause frames show it, not counters.
        is_seen: bool,
    },
    /// Data took longer over TCP than on the connections of other ranks.
    OverTcp {
        /// The rank that sends.
        sender: u32,
        /// The rank that receives.
        receiver: u32,
        /// How long it took.
        data_ns: u64,
        /// How long the same number of bytes took on those.
        others_ns: u64,
    },
    /// It offered buffers again late, by the median over the collective.
    Refill {
        /// The straggler, as a receiver.
        rank: u32,
        /// How long after the data had arrived.
        own_ns: u64,
        /// How long others took.
        others_ns: u64,
    },
    /// It was also late in the surrounding training steps.
    Persistent {
        /// The straggler.
        rank: u32,
        /// Lateness in these steps: the lower median.
        usual_ns: u64,
        /// Training steps in which it was late.
        late: u64,
        /// Training steps considered.
        of: u64,
    },
}

impl SignKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartWait { .. } => "start_wait",
            Self::BusyTime { .. } => "busy_time",
            Self::FirstClearToSend { .. } => "first_cts",
            Self::StallIndex { .. } => "stall_index",
            Self::Recovery { .. } => "recovery",
            Self::Rate { .. } => "rate",
            Self::Paused { .. } => "paused",
            Self::OverTcp { .. } => "over_tcp",
            Self::Refill { .. } => "refill",
            Self::Persistent { .. } => "persistent",
        }
    }
}
