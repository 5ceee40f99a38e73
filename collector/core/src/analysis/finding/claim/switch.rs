//! Statements of findings about switches, as their `show` commands describe them.

use super::node::Period;
use crate::model::switch::Place;

/// A statement about a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchClaim {
    /// It dropped packets.
    Drops {
        /// The switch.
        host: Option<String>,
        /// When it was counted.
        period: Period,
        /// Where, and how many, most first.
        places: Vec<(Place, u64)>,
        /// The first place has PFC.
        is_lossless: bool,
    },
    /// It dropped packets of a lossless priority, and sent no pause.
    NoPause {
        /// The switch.
        host: Option<String>,
        /// When it was counted.
        period: Period,
        /// Where, and how many, most first.
        places: Vec<(Place, u64)>,
        /// The priority of the first place.
        priority: u8,
        /// Ports whose pause frames were counted.
        ports: u64,
    },
    /// Links of its ports corrupt what they carry.
    Errors {
        /// The switch.
        host: Option<String>,
        /// When it was counted.
        period: Period,
        /// Where, and how many packets, most first.
        places: Vec<(Place, u64)>,
    },
    /// What is connected to its ports asked it to pause.
    Paused {
        /// The switch.
        host: Option<String>,
        /// When it was counted.
        period: Period,
        /// Where, with pause frames received and sent, most received first.
        places: Vec<(Place, u64, u64)>,
    },
    /// Its PFC watchdog detected storms.
    Storms {
        /// The switch.
        host: Option<String>,
        /// When it was counted.
        period: Period,
        /// Where, and how many, most first.
        places: Vec<(Place, u64)>,
        /// Queues in a storm now.
        now: Vec<Place>,
        /// Packets dropped meanwhile.
        dropped: u64,
    },
    /// Hosts use PFC on a priority on which the switch has none.
    PfcDiffers {
        /// The switch.
        host: Option<String>,
        /// Interfaces of hosts, with their priorities.
        interfaces: Vec<(String, String)>,
        /// Priorities of the switch, and how many ports have them.
        ports: Vec<(String, u64)>,
    },
    /// Hosts and the switch put DSCPs in different priorities.
    DscpDiffers {
        /// The switch.
        host: Option<String>,
        /// What differs.
        uses: Vec<DscpUse>,
    },
    /// The switch trusts the PCP, hosts the DSCP.
    TrustDiffers {
        /// The switch.
        host: Option<String>,
        /// Interfaces of hosts.
        interfaces: Vec<String>,
    },
    /// It marks none of the queues of lossless priorities.
    EcnDiffers {
        /// The switch.
        host: Option<String>,
        /// Priorities with PFC.
        priorities: Vec<u8>,
        /// Their queues.
        queues: Vec<u8>,
        /// Queues that it marks.
        marked: Vec<u8>,
    },
}

/// DSCPs that hosts put in a lossless priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DscpUse {
    /// Interfaces of hosts that do.
    pub interfaces: Vec<String>,
    /// Their priority.
    pub priority: u8,
    /// The DSCPs.
    pub dscps: Vec<u8>,
    /// Priorities of the switch for them, as far as they are known.
    pub there: Vec<u8>,
    /// DSCPs for which the switch has this priority.
    pub own: Vec<u8>,
}
