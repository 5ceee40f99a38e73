//! An agent of sFlow: a switch, or a part of one that counts its datagrams by itself.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::interface::InterfaceState;
use super::numbers::{Numbers, Place};
use super::queue::{QueueKey, QueueState};
use super::room::{Room, take};
use super::source::{FlowDrawn, FlowKey, Side, SourceKey, SourceState};
use crate::decode::frame;
use crate::decode::packet::{Body, Packet};
use crate::decode::sflow::{
    CounterSample, Datagram, FlowSample, Interface, Record, Refusal, Sample, SampledHeader,
};
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::opcode::Opcode;
use crate::model::tap::{LinkType, TapId};
use crate::model::time::{Span, Timestamp};

/// Most sources of an agent, most interfaces, and most egress queues.
const CAPACITY: usize = 1024;

/// An uptime that falls by more is that of a switch that began anew, in milliseconds: datagrams may come in
/// another order.
const RESTART_MS: u32 = 60_000;

/// RoCE packets that one datagram brought. They passed after the datagram before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the datagram before came.
    pub after: Timestamp,
    /// When this one came.
    pub until: Timestamp,
    /// How many packets.
    pub frames: u32,
}

/// The state of an agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The tap that saw it first. What others see of it is the same again.
    pub tap: TapId,
    /// First and last datagram.
    pub span: Span,
    /// Numbers of its datagrams.
    pub numbers: Numbers,
    /// Its sources.
    pub sources: BTreeMap<SourceKey, SourceState>,
    /// Interfaces that it sent counters of, by ifIndex.
    pub interfaces: BTreeMap<u32, InterfaceState>,
    /// Egress queues that drawn packets went through.
    pub queues: BTreeMap<QueueKey, QueueState>,
    /// When RoCE packets came, oldest first.
    pub arrivals: VecDeque<Arrival>,
    /// Counter samples read.
    pub counter_samples: u64,
    /// Who sends its datagrams.
    pub(super) sender: Option<IpAddr>,
    flows: BTreeMap<FlowKey, FlowDrawn>,
    before: Option<Timestamp>,
    uptime_ms: Option<u32>,
}

/// Where a sample came from.
struct Origin<'a> {
    frame: &'a Frame<'a>,
    uptime_ms: u32,
}

impl Agent {
    pub(super) const fn new(frame: &Frame<'_>, sender: Option<IpAddr>) -> Self {
        Self {
            tap: frame.tap,
            span: Span { first: frame.time, last: frame.time },
            numbers: Numbers::new(),
            sources: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            queues: BTreeMap::new(),
            arrivals: VecDeque::new(),
            counter_samples: 0,
            sender,
            flows: BTreeMap::new(),
            before: None,
            uptime_ms: None,
        }
    }

    /// Gives back what it took.
    pub(super) fn leave(&self, room: &mut Room) {
        room.agents += 1;
        room.flows += self.flows.len();
        room.sources += self.sources.len();
        room.interfaces += self.interfaces.len();
        room.queues += self.queues.len();
    }

    /// Packets to queue pairs, in key order.
    pub fn flows(&self) -> impl Iterator<Item = (&FlowKey, &FlowDrawn)> {
        self.flows.iter()
    }

    /// Processes a datagram; so much room is left.
    pub(super) fn observe(
        &mut self,
        frame: &Frame<'_>,
        datagram: &Datagram<'_>,
        room: &mut Room,
        health: &mut Health,
    ) {
        if frame.tap != self.tap {
            return health.add(HealthEvent::SflowOtherTapDatagrams, 1);
        }
        // Soon after a restart, numbers may look like repeats.
        let before = self.uptime_ms.replace(datagram.uptime_ms).unwrap_or(0);
        if datagram.uptime_ms.saturating_add(RESTART_MS) < before {
            self.numbers.begin_anew();
            self.sources.values_mut().for_each(|source| source.numbers.begin_anew());
        }
        if self.numbers.observe(datagram.sequence) == Place::Twice {
            return health.add(HealthEvent::SflowDuplicateDatagrams, 1);
        }
        self.span.last = self.span.last.max(frame.time);
        let origin = Origin { frame, uptime_ms: datagram.uptime_ms };
        let mut roce_frames = 0;
        for sample in datagram.samples() {
            match sample {
                Ok(Sample::Flow(sample)) => {
                    roce_frames += u32::from(self.take_packet(&origin, &sample, room, health));
                }
                Ok(Sample::Counters(sample)) => self.take_counters(&origin, &sample, room, health),
                Ok(Sample::Other { .. }) => health.add(HealthEvent::SflowUnknownSamples, 1),
                Err(_) => health.add(HealthEvent::SflowTruncatedDatagrams, 1),
            }
        }
        let after = self.before.replace(frame.time).unwrap_or(frame.time).min(frame.time);
        if roce_frames > 0 {
            let surplus = (self.arrivals.len() + 1).saturating_sub(room.arrivals());
            self.arrivals.drain(..surplus.min(self.arrivals.len()));
            self.arrivals.push_back(Arrival { after, until: frame.time, frames: roce_frames });
        }
    }

    /// Takes a packet that was drawn. Returns whether it is RoCE.
    fn take_packet(
        &mut self,
        origin: &Origin<'_>,
        sample: &FlowSample<'_>,
        room: &mut Room,
        health: &mut Health,
    ) -> bool {
        if sample.rate == 0 {
            health.add(HealthEvent::SflowUnratedSamples, 1);
            return false;
        }
        let key = SourceKey { source: sample.source, rate: sample.rate };
        if !self.sources.contains_key(&key)
            && (self.sources.len() >= CAPACITY || !take(&mut room.sources))
        {
            health.add(HealthEvent::SflowBeyondLimit, 1);
            return false;
        }
        let source = self.sources.entry(key).or_default();
        if source.observe(sample).is_none() {
            return false;
        }
        let side = match (sample.source.is(sample.input), sample.source.is(sample.output)) {
            (true, _) => Side::Ingress,
            (_, true) => Side::Egress,
            _ => Side::Unknown,
        };
        let drawn = source.side_mut(side);
        let carried = Carried::read(sample, health);
        note_queue(&mut self.queues, sample, &carried, room, health);
        let Some(header) = carried.header else { return false };
        let frame = Frame {
            wire_len: header.wire_len(),
            bytes: header.bytes,
            link_type: LinkType::Ethernet,
            direction: None,
            ..*origin.frame
        };
        drawn.all.add(frame.wire_len);
        frame::decode_with(&frame, |packet| {
            drawn.pauses += u64::from(matches!(packet.body, Body::Pause(_)));
            drawn.unread += u64::from(matches!(packet.body, Body::Unread));
            let Some((from, to, flow)) = roce(packet) else { return false };
            drawn.roce.add(frame.wire_len);
            drawn.ce += flow.ce;
            drawn.cnps += flow.cnps;
            let Body::Roce(roce) = &packet.body else { return false };
            let key = FlowKey { source: key, side, from, to, dest_qpn: roce.bth.dest_qpn };
            if !self.flows.contains_key(&key) && !take(&mut room.flows) {
                health.add(HealthEvent::SflowBeyondLimit, 1);
                return true;
            }
            let known = self.flows.entry(key).or_default();
            known.sums.add(frame.wire_len);
            known.ce += flow.ce;
            known.cnps += flow.cnps;
            true
        })
    }

    fn take_counters(
        &mut self,
        origin: &Origin<'_>,
        sample: &CounterSample<'_>,
        room: &mut Room,
        health: &mut Health,
    ) {
        let (mut generic, mut ethernet) = (None, None);
        for record in sample.records.clone() {
            let Ok(record) = record else {
                health.add(HealthEvent::SflowRefusedRecords, 1);
                break;
            };
            let is_read = match (record.interface_counters(), record.ethernet_counters()) {
                (Some(read), _) => read.map(|read| generic = Some(read)),
                (_, Some(read)) => read.map(|read| ethernet = Some(read)),
                _ => {
                    health.add(HealthEvent::SflowUnknownRecords, 1);
                    continue;
                }
            };
            health.add(HealthEvent::SflowRefusedRecords, u64::from(is_read.is_err()));
        }
        self.counter_samples += 1;
        let Some(generic) = generic else { return };
        if !self.interfaces.contains_key(&generic.index)
            && (self.interfaces.len() >= CAPACITY || !take(&mut room.interfaces))
        {
            return health.add(HealthEvent::SflowBeyondLimit, 1);
        }
        let interface = self.interfaces.entry(generic.index).or_default();
        interface.observe(origin.frame.time, origin.uptime_ms, generic, ethernet);
    }
}

/// Notes in which state the packet found its egress queue.
fn note_queue(
    queues: &mut BTreeMap<QueueKey, QueueState>,
    sample: &FlowSample<'_>,
    carried: &Carried<'_>,
    room: &mut Room,
    health: &mut Health,
) {
    let Some(queue) = carried.queue else { return };
    let interface = match sample.output {
        Interface::Index(index) => Some(index),
        _ => None,
    };
    let key = QueueKey { interface, queue };
    if !queues.contains_key(&key) && (queues.len() >= CAPACITY || !take(&mut room.queues)) {
        return health.add(HealthEvent::SflowBeyondLimit, 1);
    }
    let known = queues.entry(key).or_default();
    known.samples += 1;
    carried.delay_ns.into_iter().for_each(|delay| known.delay_ns.add(delay));
    carried.depth_bytes.into_iter().for_each(|depth| known.depth_bytes.add(depth));
}

/// What the records of a sample say of its packet.
#[derive(Default)]
struct Carried<'a> {
    /// Its header; `None` if there is none of Ethernet.
    header: Option<SampledHeader<'a>>,
    queue: Option<u32>,
    delay_ns: Option<u32>,
    depth_bytes: Option<u32>,
}

impl<'a> Carried<'a> {
    fn read(sample: &FlowSample<'a>, health: &mut Health) -> Self {
        let mut found = Self::default();
        for record in sample.records.clone() {
            let event = match record.and_then(|record| found.take(&record)) {
                Ok(None) => continue,
                Ok(Some(event)) => event,
                Err(_) => HealthEvent::SflowRefusedRecords,
            };
            health.add(event, 1);
        }
        found
    }

    /// Takes a record; what is counted if it is of no use.
    fn take(&mut self, record: &Record<'a>) -> Result<Option<HealthEvent>, Refusal> {
        if let Some(header) = record.header() {
            let header = header?;
            if header.protocol != SampledHeader::ETHERNET {
                return Ok(Some(HealthEvent::SflowUnreadHeaders));
            }
            self.header = self.header.or(Some(header));
        } else if let Some(queue) = record.egress_queue() {
            self.queue = Some(queue?);
        } else if let Some(delay) = record.transit_delay_ns() {
            self.delay_ns = Some(delay?);
        } else if let Some(depth) = record.queue_depth_bytes() {
            self.depth_bytes = Some(depth?);
        } else {
            return Ok(Some(HealthEvent::SflowUnknownRecords));
        }
        Ok(None)
    }
}

/// Sender, receiver and marks of a RoCE packet.
fn roce(packet: &Packet<'_>) -> Option<(HostAddress, HostAddress, FlowDrawn)> {
    let (Body::Roce(roce), Some(ip)) = (&packet.body, &packet.ip) else { return None };
    let ce = u64::from(packet.is_marked());
    let cnps = u64::from(roce.bth.opcode == Opcode::CNP);
    Some((ip.source.into(), ip.destination.into(), FlowDrawn { ce, cnps, ..FlowDrawn::default() }))
}
