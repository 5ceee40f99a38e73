//! What findings say of pause.

use std::net::IpAddr;

use crate::link::counter::NicName;
use crate::model::address::MacAddress;

/// Who paused whom, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseClaim {
    /// A station sent pause frames.
    Asked {
        /// The station.
        station: Station,
        /// How often.
        times: u64,
        /// For how long, of how long a capture; `None` without a line rate.
        paused: Option<PauseTime>,
        /// No packet was lost.
        is_lossless: bool,
    },
    /// Counters say that a NIC paused, or was paused.
    Nic {
        /// The NIC.
        nic: NicName,
        /// Which of both.
        side: PauseSide,
        /// The priority that was paused longest.
        priority: Option<u8>,
        /// For how long, of how long.
        paused: PauseTime,
        /// It dropped nothing.
        is_lossless: bool,
    },
    /// A station kept the other end paused.
    Storm {
        /// The station.
        station: Station,
        /// The priority; `None` for the whole link.
        priority: Option<u8>,
        /// The longest pause.
        longest_ns: u64,
        /// How often.
        storms: u64,
    },
    /// A NIC's firmware says that it stalled.
    NicStalled {
        /// The NIC.
        nic: NicName,
    },
    /// Counters say that a NIC paused without end, or was paused.
    NicStorm {
        /// The NIC.
        nic: NicName,
        /// Which of both.
        side: PauseSide,
        /// The priority.
        priority: Option<u8>,
        /// For how long.
        length_ns: u64,
    },
}

/// Who sends pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Its MAC address.
    pub mac: MacAddress,
    /// Its port, where that is known.
    pub port: Option<IpAddr>,
}

/// A time paused, and the time that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseTime {
    /// Paused.
    pub paused_ns: u64,
    /// Of so much.
    pub whole_ns: u64,
}

/// Which way pause frames went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseSide {
    /// The NIC sent them.
    Sent,
    /// The NIC received them.
    Received,
}
