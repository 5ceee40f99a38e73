//! What findings say of congestion, its marks and CNPs, and of the header fields that switches go by.

use crate::analysis::finding::naming::GroupName;
use crate::link::counter::NicName;

/// Congestion, and what is done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionClaim {
    /// Packets were CE-marked, or senders received CNPs.
    Congested {
        /// CE-marked packets.
        marks: u64,
        /// The packets that they are among.
        packets: u64,
        /// CNPs.
        cnps: u64,
        /// On these.
        flows: GroupName,
        /// Uplinks that nearly all marks passed.
        uplinks: Vec<String>,
        /// Senders, where several meet at one port.
        incast_senders: Option<u64>,
    },
    /// Counters say that marked packets arrived.
    NicMarked {
        /// The receiver's.
        nic: NicName,
        /// How many.
        marks: u64,
        /// The packets that they are among.
        packets: Option<u64>,
    },
    /// Marks were not answered with CNPs.
    MarksUnanswered {
        /// How many.
        marks: u64,
        /// On these.
        flows: GroupName,
    },
    /// Counters say so.
    NicSentNoCnp {
        /// The receiver's.
        nic: NicName,
        /// Marks that it received.
        marks: u64,
    },
    /// CNPs did not slow their senders down.
    NotSlowed {
        /// How many.
        cnps: u64,
        /// These.
        flows: GroupName,
    },
    /// Counters say that a NIC ignored CNPs.
    NicIgnoredCnps {
        /// The sender's.
        nic: NicName,
        /// How many.
        cnps: u64,
    },
    /// Counters of all NICs say that CNPs were sent, and none handled.
    NoNicSlowed {
        /// Those that were sent.
        cnps: u64,
    },
    /// ECN bits were cleared between two taps.
    EcnCleared {
        /// Of these.
        flows: GroupName,
    },
    /// Data is Not-ECT that should be ECN-capable.
    NotEct {
        /// These.
        flows: GroupName,
    },
    /// All data is Not-ECT.
    NothingEct {
        /// Flows.
        flows: u64,
    },
    /// A DSCP is another one than it should be.
    WrongDscp {
        /// What it is.
        own: u8,
        /// What it should be.
        wanted: u8,
        /// The settings say so; else most ports use it.
        is_expected: bool,
        /// Of these.
        flows: GroupName,
    },
    /// A DSCP differs between taps.
    DscpRewritten {
        /// What taps saw of the worst flow.
        seen: Vec<u8>,
        /// Of these.
        flows: GroupName,
    },
}
