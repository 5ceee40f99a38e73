//! Counters and settings of a switch, as its `show` commands print them.

use std::collections::BTreeMap;

use super::node::Trust;

/// What one table of a switch says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchTable {
    /// Counters and high-water marks.
    pub samples: Vec<Sample>,
    /// Settings and states of ports.
    pub ports: Vec<SwitchPort>,
    /// Profiles of WRED and ECN.
    pub profiles: Vec<EcnProfile>,
    /// Which class, queue or priority group traffic goes to.
    pub maps: Vec<PriorityMap>,
    /// Settings of a profile, or of all ports.
    pub settings: Vec<QosSettings>,
}

/// Where traffic goes: a key and its value a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityMap {
    /// What is mapped to what.
    pub kind: MapKind,
    /// Its name, if it has one: `AZURE`.
    pub name: Option<String>,
    /// Keys with their values; what is not listed is not known.
    pub pairs: BTreeMap<u8, u8>,
}

/// What a map leads from and to. The priority of a switch is a class here, too: `switch-priority` of
/// Cumulus, traffic class of SONiC and EOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapKind {
    /// From the DSCP to the traffic class.
    DscpToClass,
    /// From the PCP of a VLAN tag to the traffic class.
    PcpToClass,
    /// From the traffic class to the queue at the egress.
    ClassToQueue,
    /// From the traffic class to the priority group, for which the switch sends pause frames.
    ClassToGroup,
    /// From the priority of a received pause frame to the queue that stops.
    PfcToQueue,
}

impl MapKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DscpToClass => "dscp_to_class",
            Self::PcpToClass => "pcp_to_class",
            Self::ClassToQueue => "class_to_queue",
            Self::ClassToGroup => "class_to_priority_group",
            Self::PfcToQueue => "pfc_priority_to_queue",
        }
    }
}

/// Settings that are not those of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QosSettings {
    /// The profile or the port that has them; `None` for all ports.
    pub name: Option<String>,
    /// Priorities with PFC.
    pub lossless: Option<[bool; 8]>,
    /// Queues in which packets are marked with ECN.
    pub ecn_queues: Option<[bool; 8]>,
    /// What decides the class of a received packet.
    pub trust: Option<Trust>,
}

/// A counter or a high-water mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where it was counted.
    pub place: Place,
    /// What it counts.
    pub measure: Measure,
    /// Its value, in the unit of `measure`.
    pub value: u64,
}

/// Where a switch counts: a port, or one of its queues.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The port, as the switch names it: `Ethernet4`, `Et3/1/1`.
    pub port: String,
    /// The queue, priority or priority group; `None` for the whole port.
    pub lane: Option<Lane>,
}

/// A queue, a priority or a priority group of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// Which of these it is.
    pub kind: LaneKind,
    /// Its number.
    pub number: u8,
}

/// What a port is divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKind {
    /// A queue at the egress.
    Queue,
    /// A queue at the egress for multicast.
    MulticastQueue,
    /// A virtual output queue at the ingress.
    VirtualQueue,
    /// A priority group: a buffer at the ingress.
    PriorityGroup,
    /// A priority of PFC.
    Priority,
}

/// What a switch counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Packets received.
    Received,
    /// Packets sent.
    Sent,
    /// Received packets with errors.
    ReceiveErrors,
    /// Received packets with a wrong frame check sequence.
    FcsErrors,
    /// Code words that FEC could not correct.
    FecUncorrected,
    /// Packets that could not be sent because of errors.
    SendErrors,
    /// Received packets that were dropped.
    ReceiveDrops,
    /// Packets that were dropped before they were sent.
    SendDrops,
    /// Packets that a queue or a priority group dropped.
    QueueDrops,
    /// Packets that WRED dropped.
    WredDrops,
    /// Packets that were marked with ECN.
    EcnMarked,
    /// Pause frames of PFC received: the other end asked the switch to stop.
    PauseReceived,
    /// Pause frames of PFC sent: the switch asked the other end to stop.
    PauseSent,
    /// Storms of pause that the PFC watchdog detected.
    StormsDetected,
    /// Storms of pause that ended.
    StormsEnded,
    /// Packets that the PFC watchdog dropped during storms.
    StormDrops,
    /// 1 while the PFC watchdog sees a storm, else 0.
    InStorm,
    /// Most bytes that a queue held.
    QueuePeak,
    /// Most bytes of the shared buffer that a priority group held.
    SharedPeak,
    /// Most bytes of headroom that a priority group held: what arrived after a pause was sent.
    HeadroomPeak,
    /// Bits received per second, averaged by the switch.
    ReceiveRate,
    /// Bits sent per second, averaged by the switch.
    SendRate,
}

/// Settings and state of a port of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchPort {
    /// Its name.
    pub name: String,
    /// Whether its link is up.
    pub is_up: Option<bool>,
    /// Whether it is meant to be up.
    pub is_enabled: Option<bool>,
    /// Rate of its link, bits per second.
    pub rate_bps: Option<u64>,
    /// Largest frame, bytes.
    pub mtu: Option<u32>,
    /// Priorities with PFC.
    pub lossless: Option<[bool; 8]>,
    /// What the PFC watchdog does with packets during a storm; `None` if it is not known to watch.
    pub watchdog: Option<String>,
    /// Name of its map from DSCP to traffic class.
    pub dscp_map: Option<String>,
    /// Its queues, each with its profile of WRED and ECN if it has one.
    pub queues: BTreeMap<u8, Option<String>>,
}

/// A profile of WRED and ECN: at which length of a queue packets are marked or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EcnProfile {
    /// Its name.
    pub name: String,
    /// Which packets are marked, as the switch calls it: `ecn_all`, `ecn_none`, `ecn_green`.
    pub ecn: Option<String>,
    /// Length from which green packets are marked, bytes.
    pub min_bytes: Option<u64>,
    /// Length from which all green packets are marked, or dropped, bytes.
    pub max_bytes: Option<u64>,
}

impl Measure {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Sent => "sent",
            Self::ReceiveErrors => "receive_errors",
            Self::FcsErrors => "fcs_errors",
            Self::FecUncorrected => "fec_uncorrected",
            Self::SendErrors => "send_errors",
            Self::ReceiveDrops => "receive_drops",
            Self::SendDrops => "send_drops",
            Self::QueueDrops => "queue_drops",
            Self::WredDrops => "wred_drops",
            Self::EcnMarked => "ecn_marked",
            Self::PauseReceived => "pause_received",
            Self::PauseSent => "pause_sent",
            Self::StormsDetected => "storms_detected",
            Self::StormsEnded => "storms_ended",
            Self::StormDrops => "storm_drops",
            Self::InStorm => "in_storm",
            Self::QueuePeak => "queue_peak_bytes",
            Self::SharedPeak => "shared_peak_bytes",
            Self::HeadroomPeak => "headroom_peak_bytes",
            Self::ReceiveRate => "receive_bps",
            Self::SendRate => "send_bps",
        }
    }

    /// Whether it may fall: it is a state, a rate or a high-water mark, no counter.
    #[must_use]
    pub const fn is_gauge(self) -> bool {
        self.is_rate()
            || matches!(
                self,
                Self::InStorm | Self::QueuePeak | Self::SharedPeak | Self::HeadroomPeak
            )
    }

    /// Whether it is a rate.
    #[must_use]
    pub const fn is_rate(self) -> bool {
        matches!(self, Self::ReceiveRate | Self::SendRate)
    }
}

impl Lane {
    /// The name in reports: that of the switch, such as `UC3`, `PG3`.
    #[must_use]
    pub fn name(self) -> String {
        let kind = match self.kind {
            LaneKind::Queue => "queue ",
            LaneKind::MulticastQueue => "multicast queue ",
            LaneKind::VirtualQueue => "virtual output queue ",
            LaneKind::PriorityGroup => "priority group ",
            LaneKind::Priority => "priority ",
        };
        [kind, &self.number.to_string()].concat()
    }
}

impl Place {
    /// `Ethernet4`, `Ethernet4 queue 3`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.lane {
            Some(lane) => [self.port.as_str(), " ", &lane.name()].concat(),
            None => self.port.clone(),
        }
    }
}
