//! What a network consists of. Plain values: a scenario fills them in.

use std::net::IpAddr;

use super::packet::Ecn;
use super::trouble::Trouble;
use crate::simulate::time::Span;

/// A NIC: its place in [`NetworkPlan::nics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NicId(pub u32);

/// A switch: its place in [`NetworkPlan::switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u32);

/// A link: its place in [`NetworkPlan::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A tap: its place in [`NetworkPlan::taps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapId(pub u32);

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A NIC of a host.
    Nic(NicId),
    /// A switch.
    Switch(SwitchId),
}

/// A port: one end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(u32);

impl PortId {
    /// The port at the first end of `link`.
    pub const fn first(link: LinkId) -> Self {
        Self(link.0 * 2)
    }

    /// The port at the second end of `link`.
    pub const fn second(link: LinkId) -> Self {
        Self(link.0 * 2 + 1)
    }

    /// The port at the other end of the link.
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The link that it is an end of.
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// 0 at the first end of the link, 1 at the second: its place in [`LinkPlan::ends`].
    pub const fn end(self) -> usize {
        (self.0 % 2) as usize
    }

    /// Its place among all ports, of which each link has two.
    pub(super) const fn at(number: u32) -> Self {
        Self(number)
    }

    /// The inverse of [`Self::at`].
    pub(super) const fn number(self) -> u32 {
        self.0
    }
}

/// How many priorities IEEE 802.1Q has.
pub const PRIORITIES: usize = 8;

/// Everything that exists in a network, and what goes wrong in it.
#[derive(Clone, Debug, Default)]
pub struct NetworkPlan {
    /// The NICs of all hosts; a host with several rails has several.
    pub nics: Vec<NicPlan>,
    /// All switches.
    pub switches: Vec<SwitchPlan>,
    /// Every NIC has exactly one, a switch any number.
    pub links: Vec<LinkPlan>,
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
    /// Traffic that is no job's.
    pub background: Vec<BackgroundFlow>,
    /// Where packets are recorded.
    pub taps: Vec<TapPlan>,
    /// How long after a link went down or came up all switches have routes without or with it,
    /// in nanoseconds. The two ends of the link know at once.
    pub convergence_ns: u64,
}

/// An adapter with one port.
#[derive(Clone, Debug)]
pub struct NicPlan {
    /// For messages.
    pub name: String,
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IP address. All NICs of a network are of one family, or do not talk with each other.
    pub address: IpAddr,
    /// Rate control of its queue pairs; `None` ignores CNPs, and sends none.
    pub dcqcn: Option<Dcqcn>,
    /// DSCP of the CNPs it sends.
    pub cnp_dscp: u8,
    /// Where packets wait for the host's memory.
    pub receive: ReceivePlan,
    /// Priorities with PFC: it obeys pauses for these and sends some.
    pub lossless: PrioritySet,
    /// Which priority a packet has.
    pub priorities: DscpMap,
    /// A requester asks for an ACK on the last packet of a message, and each time it has sent this
    /// many packets without asking.
    pub ack_every: u32,
}

/// The receive buffer of a NIC.
#[derive(Clone, Copy, Debug)]
pub struct ReceivePlan {
    /// What is beyond is dropped (`rx_discards_phy`).
    pub buffer_bytes: u64,
    /// It sends XOFF when more than this waits.
    pub xoff_bytes: u64,
    /// It sends XON when no more than this waits.
    pub xon_bytes: u64,
    /// How fast the host's memory takes packets, in bits per second; `None`: never too slow.
    pub drain_bps: Option<u64>,
}

/// A set of priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrioritySet(pub u8);

impl PrioritySet {
    /// A set of one.
    pub const fn only(priority: u8) -> Self {
        Self(1 << (priority & 7))
    }

    /// Whether `priority` is in it.
    pub const fn contains(self, priority: u8) -> bool {
        self.0 & (1 << (priority & 7)) != 0
    }
}

/// The priority of each of the 64 DSCPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpMap(pub [u8; 64]);

impl DscpMap {
    /// Eight DSCPs a priority: what adapters and switches that trust DSCPs do by default.
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
    /// Alpha decays when no CNP came for this long: K.
    pub alpha_timer_ns: u64,
    /// The rate rises each time this passes without a CNP: T.
    pub increase_timer_ns: u64,
    /// The rate rises each time this many bytes were sent without a CNP: B.
    pub byte_counter: u64,
    /// Rises of fast recovery before the target rises too: F.
    pub fast_recovery: u32,
    /// Additive increase of the target: `R_AI`.
    pub additive_bps: f64,
    /// Hyper increase of the target: `R_HAI`.
    pub hyper_bps: f64,
    /// No queue pair is slower.
    pub minimum_bps: f64,
    /// The least time between two CNPs for one queue pair.
    pub cnp_interval_ns: u64,
}

impl Dcqcn {
    /// The parameters of the paper (section 4, 40 Gb/s); `R_HAI` is ten times `R_AI`.
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
    /// For messages.
    pub name: String,
    /// Its Ethernet address as a router.
    pub mac: [u8; 6],
    /// What all ports share, headroom not included.
    pub buffer_bytes: u64,
    /// What it does with each priority.
    pub queues: [QueuePlan; PRIORITIES],
    /// Which priority a packet has.
    pub priorities: DscpMap,
}

/// What a switch does with one priority, at each port.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuePlan {
    /// How it marks; `None`: never.
    pub marking: Option<EcnMarking>,
    /// How it pauses who sends; `None`: what has no room is dropped.
    pub pfc: Option<Pfc>,
    /// Sent before all queues that are not strict; of several, the highest priority first. The
    /// others share what is left equally.
    pub strict: bool,
}

/// Marking by the length of the egress queue that an arriving packet finds (RED on the queue as it
/// is, DCQCN section 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnMarking {
    /// Up to here no packet is marked.
    pub kmin_bytes: u64,
    /// Above this every packet is.
    pub kmax_bytes: u64,
    /// The share that is marked at Kmax, 0 to 1; from Kmin it rises linearly.
    pub pmax: f64,
}

/// When a switch pauses a neighbour, counted for each ingress port and priority (IEEE 802.1Qbb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// XOFF when more than this is stored.
    pub xoff_bytes: u64,
    /// XON when no more than this is stored.
    pub xon_bytes: u64,
    /// Room besides the shared buffer for what still comes after XOFF.
    pub headroom_bytes: u64,
}

/// A link, equally fast in both directions.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// What it connects.
    pub ends: [LinkEnd; 2],
    /// Bits per second in each direction, preamble and gap included.
    pub rate_bps: u64,
    /// How long a bit is under way.
    pub delay_ns: u64,
}

/// Where a link is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Into what.
    pub node: NodeId,
    /// Into which port of it: the operator's name.
    pub port: String,
}

/// Datagrams of somebody else: UDP without any control of the rate, at random distances (Poisson).
#[derive(Clone, Copy, Debug)]
pub struct BackgroundFlow {
    /// Who sends.
    pub from: NicId,
    /// Who receives, and ignores them.
    pub to: NicId,
    /// Bits per second on the wire, on average.
    pub rate_bps: u64,
    /// Payload of UDP.
    pub payload_bytes: u16,
    /// Chooses the path.
    pub udp_source_port: u16,
    /// Not 4791.
    pub udp_destination_port: u16,
    /// Of every datagram.
    pub dscp: u8,
    /// Of every datagram.
    pub ecn: Ecn,
    /// When it sends.
    pub span: Span,
}

/// A port whose packets are shown, both directions.
#[derive(Clone, Debug)]
pub struct TapPlan {
    /// The operator's name: `host3`, `leaf1:uplink2`.
    pub name: String,
    /// The port.
    pub port: PortId,
}

/// What in a plan contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A link, trouble, flow or tap names something that does not exist.
    #[error("{what} {place} names {missing}, which does not exist")]
    Missing {
        /// `link`, `trouble`, `background flow`, `tap`.
        what: &'static str,
        /// Its place in its list.
        place: usize,
        /// What it names.
        missing: String,
    },
    /// A NIC has exactly one link.
    #[error("NIC {name} has {links} links, not one")]
    LinksOfNic {
        /// Of the NIC.
        name: String,
        /// How many.
        links: usize,
    },
    /// A value that makes no sense.
    #[error("{what} {place}: {problem}")]
    Value {
        /// `NIC`, `switch`, `link`, `trouble`, `background flow`.
        what: &'static str,
        /// Its place in its list.
        place: usize,
        /// What is wrong.
        problem: &'static str,
    },
}
