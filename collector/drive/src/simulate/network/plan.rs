//! The description of a network, as plain values that a scenario fills in.

use std::net::IpAddr;

use super::id::{NicId, NodeId, PRIORITIES, PortId, PrioritySet};
use super::packet::Ecn;
use super::trouble::Trouble;
use crate::simulate::time::Span;

/// Everything in a network, and its faults.
#[derive(Clone, Debug, Default)]
pub struct NetworkPlan {
    /// The NICs of all hosts; a host with several rails has several.
    pub nics: Vec<NicPlan>,
    /// All switches.
    pub switches: Vec<SwitchPlan>,
    /// Every NIC has exactly one link, a switch any number.
    pub links: Vec<LinkPlan>,
    /// Faults.
    pub troubles: Vec<Trouble>,
    /// Traffic outside the jobs.
    pub background: Vec<BackgroundFlow>,
    /// Where packets are recorded.
    pub taps: Vec<TapPlan>,
    /// Nanoseconds until all switches have updated their routes after a link changed. The two ends
    /// of the link know at once.
    pub convergence_ns: u64,
    /// Switches choose the path of each packet by chance; else one path per flow.
    pub sprays: bool,
}

/// An adapter with one port.
#[derive(Clone, Debug)]
pub struct NicPlan {
    /// Name for messages.
    pub name: String,
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IP address. All NICs of a network are of one family, or do not talk with each other.
    pub address: IpAddr,
    /// Rate control of its queue pairs; `None` ignores CNPs and sends none.
    pub dcqcn: Option<Dcqcn>,
    /// DSCP of the CNPs it sends.
    pub cnp_dscp: u8,
    /// The buffer for packets waiting for the host's memory.
    pub receive: ReceivePlan,
    /// Priorities with PFC, for which it obeys and sends pauses.
    pub lossless: PrioritySet,
    /// The priority of each DSCP.
    pub priorities: DscpMap,
    /// A requester asks for an ACK on the last packet of a message, and whenever this many packets
    /// were sent without a request.
    pub ack_every: u32,
    /// It places packets out of order, and asks for one that has been missing for this long, which
    /// is then sent again alone (selective repeat). `None`: it expects order, and its peers go back.
    pub reorder_ns: Option<u64>,
}

/// The receive buffer of a NIC.
#[derive(Clone, Copy, Debug)]
pub struct ReceivePlan {
    /// Size; what does not fit is dropped (`rx_discards_phy`).
    pub buffer_bytes: u64,
    /// Sends XOFF above this level.
    pub xoff_bytes: u64,
    /// Sends XON at or below this level.
    pub xon_bytes: u64,
    /// Rate at which the host's memory accepts packets, in bits per second; `None`: unlimited.
    pub drain_bps: Option<u64>,
}

/// The priority of each of the 64 DSCPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpMap(pub [u8; 64]);

impl DscpMap {
    /// Eight DSCPs per priority: the default of adapters and switches that trust DSCPs.
    pub const fn by_class() -> Self {
        let mut map = [0; 64];
        let mut dscp = 0;
        while dscp < 64 {
            map[dscp] = (dscp >> 3) as u8;
            dscp += 1;
        }
        Self(map)
    }

    /// The priority of packets with `dscp`.
    pub const fn priority(&self, dscp: u8) -> u8 {
        self.0[(dscp & 63) as usize] & 7
    }
}

/// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    /// Gain of alpha: g.
    pub gain: f64,
    /// Alpha decays after this time without a CNP: K.
    pub alpha_timer_ns: u64,
    /// The rate increases each time this passes without a CNP: T.
    pub increase_timer_ns: u64,
    /// The rate increases each time this many bytes were sent without a CNP: B.
    pub byte_counter: u64,
    /// Increases of fast recovery before the target increases too: F.
    pub fast_recovery: u32,
    /// Additive increase of the target: `R_AI`.
    pub additive_bps: f64,
    /// Hyper increase of the target: `R_HAI`.
    pub hyper_bps: f64,
    /// Lowest rate of a queue pair.
    pub minimum_bps: f64,
    /// Shortest time between two CNPs for one queue pair.
    pub cnp_interval_ns: u64,
}

impl Dcqcn {
    /// The paper's parameters (section 4, 40 Gb/s); `R_HAI` is ten times `R_AI`.
    pub const fn published() -> Self {
        Self {
            gain: 1.0 / 256.0,
            alpha_timer_ns: 55_000,
            increase_timer_ns: 55_000,
            byte_counter: 10_000_000,
            fast_recovery: 5,
            additive_bps: 40e6,
            hyper_bps: 400e6,
            minimum_bps: 40e6,
            cnp_interval_ns: 50_000,
        }
    }
}

/// A switch that stores packets in one shared buffer.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Name for messages.
    pub name: String,
    /// Its Ethernet address as a router.
    pub mac: [u8; 6],
    /// Buffer shared by all ports, without headroom.
    pub buffer_bytes: u64,
    /// Treatment of each priority.
    pub queues: [QueuePlan; PRIORITIES],
    /// The priority, and so the queue, of each DSCP.
    pub priorities: DscpMap,
}

/// How a switch treats one priority, at each port.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuePlan {
    /// How it marks; `None`: never.
    pub marking: Option<EcnMarking>,
    /// How it pauses senders; `None`: what does not fit is dropped.
    pub pfc: Option<Pfc>,
    /// Sent before all queues that are not strict, highest priority first. The others share the
    /// rest equally.
    pub strict: bool,
}

/// Marking by the length of the egress queue that an arriving packet finds (RED on the current
/// queue length, DCQCN section 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnMarking {
    /// No packet is marked up to this length.
    pub kmin_bytes: u64,
    /// Every packet is marked above this length.
    pub kmax_bytes: u64,
    /// Share marked at Kmax, 0 to 1; it rises linearly from Kmin.
    pub pmax: f64,
}

/// When a switch pauses a neighbour, counted for each ingress port and priority (IEEE 802.1Qbb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Sends XOFF above this level.
    pub xoff_bytes: u64,
    /// Sends XON at or below this level.
    pub xon_bytes: u64,
    /// Space beyond the shared buffer for what arrives after XOFF.
    pub headroom_bytes: u64,
}

/// A link, equally fast in both directions.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// What it connects.
    pub ends: [LinkEnd; 2],
    /// Bits per second in each direction, preamble and gap included.
    pub rate_bps: u64,
    /// One-way delay.
    pub delay_ns: u64,
}

/// Where a link ends: a NIC or a port of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// The NIC or switch.
    pub node: NodeId,
    /// The port of the node: the operator's name.
    pub port: String,
}

/// Traffic of others: UDP without rate control, at random intervals (Poisson).
#[derive(Clone, Copy, Debug)]
pub struct BackgroundFlow {
    /// Sending NIC.
    pub from: NicId,
    /// Receiving NIC, which ignores them.
    pub to: NicId,
    /// Average rate on the wire, bits per second.
    pub rate_bps: u64,
    /// UDP payload.
    pub payload_bytes: u16,
    /// Chooses the path.
    pub udp_source_port: u16,
    /// UDP destination port, not 4791.
    pub udp_destination_port: u16,
    /// DSCP of every datagram.
    pub dscp: u8,
    /// ECN of every datagram.
    pub ecn: Ecn,
    /// When it sends.
    pub span: Span,
}

/// A captured port, both directions.
#[derive(Clone, Debug)]
pub struct TapPlan {
    /// The operator's name: `host3`, `leaf1:uplink2`.
    pub name: String,
    /// Where it captures.
    pub port: PortId,
}

/// A contradiction in a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A link, fault, flow or tap refers to something that does not exist.
    #[error("{what} {place} names {missing}, which does not exist")]
    Missing {
        /// `link`, `trouble`, `background flow`, `tap`.
        what: &'static str,
        /// Index in its list.
        place: usize,
        /// What it refers to.
        missing: String,
    },
    /// A NIC has exactly one link.
    #[error("NIC {name} has {links} links, not one")]
    LinksOfNic {
        /// Name of the NIC.
        name: String,
        /// Number of its links.
        links: usize,
    },
    /// An invalid value.
    #[error("{what} {place}: {problem}")]
    Value {
        /// `NIC`, `switch`, `link`, `trouble`, `background flow`.
        what: &'static str,
        /// Index in its list.
        place: usize,
        /// What is wrong.
        problem: &'static str,
    },
}
