//! What findings say of loss, resends, refusals, and headers that the transport checks.

use crate::analysis::finding::naming::GroupName;
use crate::link::counter::NicName;

/// What became of packets between two queue pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportClaim {
    /// Packets were missing, or sent again.
    Lost {
        /// Missing at first sight.
        missing: u64,
        /// Came after a later one.
        late: u64,
        /// Sent again.
        resent: u64,
        /// All frames.
        frames: u64,
        /// On these.
        flows: GroupName,
    },
    /// Counters say that a NIC received NAKs for missing packets.
    NicSequenceNaks {
        /// The sender's.
        nic: NicName,
        /// How many.
        naks: u64,
    },
    /// Counters say that a NIC saw gaps.
    NicGaps {
        /// The receiver's.
        nic: NicName,
        /// How many.
        gaps: u64,
    },
    /// Packets were sent again after silence.
    TimedOut {
        /// How often.
        resends: u64,
        /// On these.
        flows: GroupName,
        /// Their link went down.
        is_link_down: bool,
    },
    /// Counters say that ACK timers expired.
    NicTimers {
        /// The sender's.
        nic: NicName,
        /// How many.
        timers: u64,
    },
    /// Receivers had no buffer.
    NotReady {
        /// RNR NAKs.
        naks: u64,
        /// On these.
        flows: GroupName,
    },
    /// Counters say that a NIC received RNR NAKs.
    NicNotReady {
        /// The sender's.
        nic: NicName,
        /// How many.
        naks: u64,
    },
    /// Requests were refused for good.
    Refused {
        /// NAKs.
        naks: u64,
        /// On these.
        flows: GroupName,
        /// The commonest reason, as reports name it.
        reason: &'static str,
    },
    /// Packets overtook others.
    Reordered {
        /// Packets that were overtaken.
        late: u64,
        /// On these.
        flows: GroupName,
    },
    /// Invariant CRCs do not fit.
    WrongIcrc {
        /// That many.
        wrong: u64,
        /// Of so many whole frames.
        checked: u64,
        /// Of these.
        flows: GroupName,
    },
    /// Partition keys do not fit.
    PartitionKeys {
        /// What is sent.
        own: u16,
        /// What the receiver has.
        other: u16,
        /// By these.
        flows: GroupName,
    },
    /// A path MTU is another one than it should be.
    PathMtu {
        /// What it is.
        own: u32,
        /// What it should be.
        wanted: u32,
        /// The settings say so; else other flows have it.
        is_expected: bool,
        /// Of these.
        flows: GroupName,
    },
    /// Every path MTU is what Ethernet's default leaves.
    SmallMtu {
        /// What it is.
        mtu: u32,
        /// Flows whose path MTU is known.
        flows: u64,
    },
}
