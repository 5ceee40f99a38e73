//! Statements of findings about congestion: marks, CNPs, and the header fields that switches use.

use std::net::IpAddr;

use crate::analysis::finding::naming::GroupName;
use crate::link::counter::NicName;

/// A statement about congestion and the reaction to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionClaim {
    /// Packets were CE-marked, or senders received CNPs.
    Congested {
        /// CE-marked packets.
        marks: u64,
        /// Packets on the marked flows.
        packets: u64,
        /// CNPs to the senders of these flows.
        cnps: u64,
        /// Flows with marks or CNPs.
        flows: GroupName,
        /// Uplinks that nearly all marked packets passed.
        uplinks: Vec<String>,
        /// Number of senders, if several meet at one port.
        incast_senders: Option<u64>,
    },
    /// Counters show that marked packets arrived.
    NicMarked {
        /// The receiving NIC.
        nic: NicName,
        /// Marked packets.
        marks: u64,
        /// Packets among which the marks were counted.
        packets: Option<u64>,
    },
    /// Receivers sent no CNPs for marked packets.
    MarksUnanswered {
        /// Marked packets.
        marks: u64,
        /// Flows without CNPs.
        flows: GroupName,
    },
    /// Counters show that a receiver sent no CNPs.
    NicSentNoCnp {
        /// The receiving NIC.
        nic: NicName,
        /// Marked packets that it received.
        marks: u64,
    },
    /// CNPs did not slow their senders down.
    NotSlowed {
        /// CNPs received.
        cnps: u64,
        /// Flows that did not slow down.
        flows: GroupName,
    },
    /// Counters show that a NIC ignored CNPs.
    NicIgnoredCnps {
        /// The sending NIC.
        nic: NicName,
        /// CNPs ignored.
        cnps: u64,
    },
    /// Counters of all NICs show that CNPs were sent but none was handled.
    NoNicSlowed {
        /// CNPs sent.
        cnps: u64,
    },
    /// ECN bits were cleared between two taps.
    EcnCleared {
        /// Flows whose ECN bits were cleared.
        flows: GroupName,
    },
    /// Data that should be ECN-capable is Not-ECT.
    NotEct {
        /// Flows that are Not-ECT.
        flows: GroupName,
    },
    /// All data is Not-ECT.
    NothingEct {
        /// Number of flows.
        flows: u64,
    },
    /// Ports of a communicator send with several DSCPs; the most common one first.
    DscpsDiffer(Vec<DscpUse>),
    /// Flows have another DSCP than the settings expect.
    WrongDscp {
        /// The DSCP found.
        own: u8,
        /// The DSCP expected.
        wanted: u8,
        /// Flows with the unexpected DSCP.
        flows: GroupName,
    },
    /// A DSCP differs between taps.
    DscpRewritten {
        /// DSCPs of the worst flow at the taps.
        seen: Vec<u8>,
        /// Flows whose DSCP was rewritten.
        flows: GroupName,
    },
}

/// Who sends with a DSCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DscpUse {
    /// The DSCP.
    pub dscp: u8,
    /// Ports that send with it, each with its rank if that is known; a port of several ranks is there
    /// once for each.
    pub ports: Vec<(IpAddr, Option<u32>)>,
}
