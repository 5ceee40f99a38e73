//! Statements of findings about loss, retransmissions, rejected requests, and headers that the
//! transport checks.

use crate::analysis::finding::naming::GroupName;
use crate::link::counter::NicName;

/// A statement about packets between two queue pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportClaim {
    /// Packets were lost or retransmitted.
    Lost {
        /// Packets missing when first expected.
        missing: u64,
        /// Packets out of order.
        late: u64,
        /// Retransmitted packets.
        resent: u64,
        /// All frames of the flows.
        frames: u64,
        /// Flows with lost or retransmitted packets.
        flows: GroupName,
    },
    /// Counters show that a NIC received NAKs for missing packets.
    NicSequenceNaks {
        /// The sending NIC.
        nic: NicName,
        /// NAKs received.
        naks: u64,
    },
    /// Counters show that a NIC received packets out of sequence.
    NicGaps {
        /// The receiving NIC.
        nic: NicName,
        /// Gaps counted.
        gaps: u64,
    },
    /// Packets were retransmitted after a timeout.
    TimedOut {
        /// ACK timeouts.
        resends: u64,
        /// Flows with timeouts.
        flows: GroupName,
        /// The link of these flows went down.
        is_link_down: bool,
    },
    /// Counters show that ACK timers expired.
    NicTimers {
        /// The sending NIC.
        nic: NicName,
        /// Expired timers.
        timers: u64,
    },
    /// The link of a port went down.
    LinkWentDown {
        /// Its NIC.
        nic: NicName,
        /// How often.
        times: u64,
        /// It was not up again at the end.
        is_down: bool,
    },
    /// Receivers had no buffer posted.
    NotReady {
        /// RNR NAKs.
        naks: u64,
        /// Flows with RNR NAKs.
        flows: GroupName,
    },
    /// Queue pairs of a rank are in error.
    InError {
        /// The rank.
        rank: u32,
        /// Its host, or an address.
        host: Option<String>,
        /// Queue pairs in error.
        failed: u64,
        /// Its queue pairs that serve the communicator.
        of: u64,
    },
    /// Counters show that a NIC received RNR NAKs.
    NicNotReady {
        /// The sending NIC.
        nic: NicName,
        /// RNR NAKs received.
        naks: u64,
    },
    /// Responders rejected requests with a fatal NAK.
    Refused {
        /// Fatal NAKs.
        naks: u64,
        /// Flows with rejected requests.
        flows: GroupName,
        /// The most common reason, as reports name it.
        reason: &'static str,
    },
    /// Packets arrived out of order.
    Reordered {
        /// Packets out of order.
        late: u64,
        /// Flows with reordering.
        flows: GroupName,
    },
    /// Invariant CRCs are wrong.
    WrongIcrc {
        /// Wrong ICRCs.
        wrong: u64,
        /// ICRCs checked: those of complete frames.
        checked: u64,
        /// Flows with wrong ICRCs.
        flows: GroupName,
    },
    /// The two ends use different partition keys.
    PartitionKeys {
        /// Key of the sender.
        own: u16,
        /// Key of the receiver.
        other: u16,
        /// Flows with the wrong key.
        flows: GroupName,
    },
    /// Flows have an unexpected path MTU.
    PathMtu {
        /// The path MTU found, in bytes.
        own: u32,
        /// The path MTU expected, in bytes.
        wanted: u32,
        /// The settings name the expected path MTU; otherwise other flows have it.
        is_expected: bool,
        /// Flows with the unexpected path MTU.
        flows: GroupName,
    },
    /// The two ends of connections use different path MTUs.
    PathMtuMismatch {
        /// The path MTU of the port that the flows have in common, or of the sender of a single
        /// flow, in bytes.
        here: u32,
        /// That of the other end.
        there: u32,
        /// Flows with the mismatch.
        flows: GroupName,
    },
    /// Every path MTU is the one that fits Ethernet's default MTU.
    SmallMtu {
        /// The path MTU, in bytes.
        mtu: u32,
        /// Flows whose path MTU is known.
        flows: u64,
    },
}
