//! Statements of findings about pause.

use std::net::IpAddr;

use crate::link::counter::NicName;
use crate::model::address::MacAddress;

/// A statement about pause of links and priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseClaim {
    /// A station sent pause frames.
    Asked {
        /// The station that asked.
        station: Station,
        /// Number of pause requests.
        times: u64,
        /// Paused time in the capture; `None` without a line rate.
        paused: Option<PauseTime>,
        /// No packet was lost.
        is_lossless: bool,
    },
    /// Counters show that a NIC paused its link partner, or was paused.
    Nic {
        /// The NIC whose counters show it.
        nic: NicName,
        /// Which of the two.
        side: PauseSide,
        /// The priority that was paused longest.
        priority: Option<u8>,
        /// Paused time in the counted time.
        paused: PauseTime,
        /// The NIC dropped nothing.
        is_lossless: bool,
    },
    /// A station kept its link partner paused.
    Storm {
        /// The station that asked.
        station: Station,
        /// The priority; `None` for the whole link.
        priority: Option<u8>,
        /// Longest pause, in nanoseconds.
        longest_ns: u64,
        /// Number of storms.
        storms: u64,
    },
    /// Counters of a NIC's firmware show that it stalled.
    NicStalled {
        /// The NIC whose firmware counted it.
        nic: NicName,
    },
    /// Counters show that a NIC paused continuously, or was paused.
    NicStorm {
        /// The NIC whose counters show it.
        nic: NicName,
        /// Which of the two.
        side: PauseSide,
        /// The priority; `None` for the whole link.
        priority: Option<u8>,
        /// Duration, in nanoseconds.
        length_ns: u64,
    },
}

/// The sender of pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Source address of its pause frames.
    pub mac: MacAddress,
    /// Address of its port, if known.
    pub port: Option<IpAddr>,
}

/// Paused time within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseTime {
    /// Paused time, in nanoseconds.
    pub paused_ns: u64,
    /// The period, in nanoseconds.
    pub whole_ns: u64,
}

/// Direction of pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseSide {
    /// The NIC sent them.
    Sent,
    /// The NIC received them.
    Received,
}
