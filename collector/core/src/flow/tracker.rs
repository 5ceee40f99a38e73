//! The entry of the flow layer: packets in; state of taps, flows, ports and pause out.

mod consistent;
mod forget;
mod join;

use serde::{Deserialize, Serialize};

use super::arrival::Arrival;
use super::burst;
use super::connection::{AnnouncedPair, Connections};
use super::duplicate::Duplicates;
use super::episode::Episodes;
use super::key::FlowKey;
use super::message::Message;
use super::mirror::{MirrorSessions, SessionKey};
use super::observer::{FlowObserver, Signal};
use super::pairing::{Pairing, PortVerdict};
use super::pause::PauseTable;
use super::port::{PortTable, PortTraffic};
use super::requester::Requester;
use super::sequence::RequestArrival;
use super::sighting::Sighting;
use super::state::{Flow, PairEvidence, Response};
use super::table::FlowTable;
use super::tap::TapState;
use crate::decode::packet::{Body, Ip, Packet, Tunnel};
use crate::decode::roce::aeth::Syndrome;
use crate::decode::roce::packet::RocePacket;
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::opcode::{Opcode, Operation, Traits, Transport};
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;
use crate::model::tap::{Tap, TapId};
use crate::model::time::Timestamp;

/// Limits and options of the flow layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowConfig {
    /// Most flows at a time.
    pub flow_capacity: usize,
    /// Line rate of every port in bits per second; overrides what captures say.
    pub line_rate_bps: Option<u64>,
    /// Whether messages are delivered one by one, and recovery episodes listed for every flow.
    pub keeps_details: bool,
}

/// Flows whose recovery episodes are always listed: waits need their times.
const LISTING_FLOWS: usize = 2048;

/// A completed message and the flow it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEvent {
    /// The flow's key.
    pub key: FlowKey,
    /// The flow's epoch.
    pub epoch: u32,
    /// Its kind, size, times and PSNs.
    pub message: Message,
}

impl MessageEvent {
    /// The same where tap n is `taps[n]`.
    #[must_use]
    pub fn at_tap(mut self, taps: &[TapId]) -> Self {
        self.key.tap = self.key.tap.among(taps);
        self
    }
}

/// All state that is kept per packet. One that was written and read observes no more packets.
#[derive(Clone, Serialize, Deserialize)]
pub struct FlowTracker {
    #[serde(skip)]
    config: FlowConfig,
    pub(super) taps: Vec<TapState>,
    pub(super) flows: FlowTable,
    pub(super) ports: PortTable,
    #[serde(skip)]
    pairing: Pairing,
    connections: Connections,
    #[serde(skip)]
    duplicates: Duplicates,
    pauses: PauseTable,
    mirrors: MirrorSessions,
    #[serde(skip)]
    messages: Vec<MessageEvent>,
    restarted_epochs: u64,
    /// Flows that ever retransmitted.
    recovering_flows: usize,
}

impl FlowTracker {
    /// An empty tracker.
    #[must_use]
    pub fn new(config: FlowConfig) -> Self {
        Self {
            config,
            taps: Vec::new(),
            flows: FlowTable::new(config.flow_capacity),
            ports: PortTable::default(),
            pairing: Pairing::default(),
            connections: Connections::default(),
            duplicates: Duplicates::default(),
            pauses: PauseTable::default(),
            mirrors: MirrorSessions::default(),
            messages: Vec::new(),
            restarted_epochs: 0,
            recovering_flows: 0,
        }
    }

    /// Adds the next tap; taps are numbered from 0.
    pub fn add_tap(&mut self, tap: Tap) {
        let line_rate_bps = self.config.line_rate_bps.or(tap.line_rate_bps);
        self.taps.push(TapState::new(tap, line_rate_bps));
    }

    /// The source reported lost frames of a tap.
    pub fn add_lost_frames(&mut self, tap: TapId, frames: u64) {
        if let Some(tap) = self.taps.get_mut(tap.0 as usize) {
            tap.lost_frames += frames;
        }
    }

    /// Notes that no other frame passed a tap until then.
    pub fn observe_until(&mut self, tap: TapId, time: Timestamp) {
        if let Some(tap) = self.taps.get_mut(tap.0 as usize) {
            tap.observe_until(time);
        }
    }

    /// Processes a frame and its decoded packet, and reports flow events to `observer`. Frames of
    /// unknown taps are ignored.
    #[inline]
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        observer: &mut impl FlowObserver,
    ) {
        let Some(tap) = self.taps.get_mut(frame.tap.0 as usize) else { return };
        tap.add(frame, packet);
        if packet.tunnels[0].is_some() {
            self.observe_mirrors(frame.tap, packet);
        }
        match (&packet.body, &packet.ip) {
            (Body::Roce(roce), Some(ip)) => {
                let arrival = Arrival { tap: frame.tap, time: frame.time, frame, packet, ip, roce };
                self.observe_roce(&arrival, observer);
            }
            (Body::Pause(pause), _) => {
                if let Some(ethernet) = &packet.ethernet {
                    let rate = self.taps[frame.tap.0 as usize].line_rate_bps;
                    self.pauses.observe(frame, ethernet.source, pause, rate);
                }
            }
            (_, Some(ip)) => self.meter_other(frame, packet, ip),
            _ => {}
        }
    }

    /// Closes what is still open: episodes without an ACK, pauses.
    pub fn finish(&mut self) {
        let taps = &self.taps;
        let last_frame =
            |tap: TapId| taps.get(tap.0 as usize).and_then(|tap| tap.span).map(|span| span.last);
        self.pauses.finish(|tap| last_frame(tap).unwrap_or(Timestamp::MAX));
        for flow in self.flows.flows_mut() {
            if let Some(episodes) = &mut flow.episodes {
                episodes.finish();
            }
        }
    }

    /// The taps in the order of their numbers.
    #[must_use]
    pub fn taps(&self) -> &[TapState] {
        &self.taps
    }

    /// One of them.
    #[must_use]
    pub fn tap(&self, id: TapId) -> Option<&TapState> {
        self.taps.get(id.0 as usize)
    }

    /// Frames that a tap is known to lack: lost by its source, or by mirror sessions on the way. What the source
    /// lost of a session is missing there, too: at least so many.
    #[must_use]
    pub fn lost_frames(&self, tap: TapId) -> u64 {
        let by_source = self.tap(tap).map_or(0, |tap| tap.lost_frames);
        by_source.max(self.mirrors.lost_frames(tap))
    }

    /// The flows of all taps and epochs, in arbitrary order.
    #[must_use]
    pub fn flows(&self) -> &FlowTable {
        &self.flows
    }

    /// Begins an interval: what ports did before the one that ends now is no longer recent.
    pub fn begin_interval(&mut self) {
        self.ports.begin_interval();
    }

    /// The ports of all taps.
    #[must_use]
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// Pause of all taps.
    #[must_use]
    pub fn pauses(&self) -> &PauseTable {
        &self.pauses
    }

    /// Mirror sessions of all taps.
    #[must_use]
    pub fn mirrors(&self) -> &MirrorSessions {
        &self.mirrors
    }

    /// The connection manager's announcements.
    #[must_use]
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Epochs that began at PSN 0 or were announced by the connection manager.
    #[must_use]
    pub const fn restarted_epochs(&self) -> u64 {
        self.restarted_epochs
    }

    /// Delivers the messages completed since the last call, oldest first.
    pub fn drain_messages(&mut self) -> std::vec::Drain<'_, MessageEvent> {
        self.messages.drain(..)
    }

    fn observe_mirrors(&mut self, tap: TapId, packet: &Packet<'_>) {
        let switch = packet.mirrored_by.map(HostAddress::from);
        for tunnel in packet.tunnels.iter().flatten() {
            match *tunnel {
                Tunnel::ErspanII { session, sequence, .. } => {
                    self.mirrors.observe(SessionKey { tap, switch, session }, Some(sequence));
                }
                Tunnel::ErspanIII { session, sequence, .. } => {
                    self.mirrors.observe(SessionKey { tap, switch, session }, sequence);
                }
                Tunnel::Vxlan { .. }
                | Tunnel::Geneve { .. }
                | Tunnel::Mpls { .. }
                | Tunnel::IpInIp
                | Tunnel::Gre { .. }
                | Tunnel::Mirror { .. }
                | Tunnel::ErspanI => {}
            }
        }
    }

    /// Traffic other than RoCE loads the same ports.
    fn meter_other(&mut self, frame: &Frame<'_>, packet: &Packet<'_>, ip: &Ip) {
        let rate = self.taps[frame.tap.0 as usize].line_rate_bps;
        let source = self.ports.find_or_insert(frame.tap, ip.source.into(), rate);
        let destination = self.ports.find_or_insert(frame.tap, ip.destination.into(), rate);
        let traffic = PortTraffic {
            time: frame.time,
            bytes: u64::from(packet.wire_len) + burst::WIRE_OVERHEAD,
            ce_packets: packet.is_marked().into(),
        };
        self.ports.observe(source, destination, &traffic, None);
    }

    fn observe_roce(&mut self, arrival: &Arrival<'_>, observer: &mut impl FlowObserver) {
        let Arrival { tap, time, packet, ip, roce, .. } = *arrival;
        let key = FlowKey {
            tap,
            source: ip.source.into(),
            destination: ip.destination.into(),
            dest_qpn: roce.bth.dest_qpn,
        };
        let at = match self.flows.newest(&key) {
            Some(at) if !self.flows.at(at).is_closed => at,
            Some(at) => self.begin_flow(key, self.flows.at(at).epoch + 1, arrival),
            None => self.begin_flow(key, 0, arrival),
        };
        let traits = roce.bth.opcode.traits();
        let limit = self.flows.at(at).copy_limit_ns(traits, ip.identification);
        if self.duplicates.is_copy(at, &key, ip.identification, roce, time, limit) {
            self.taps[tap.0 as usize].duplicates += 1;
            return;
        }
        let is_zero = roce.bth.psn == Psn::new(0) && traits.has(Traits::REQUEST);
        let at = if is_zero { self.epoch_at_zero(at, arrival) } else { at };
        let flow = self.flows.at_mut(at);
        let bytes = u64::from(packet.wire_len) + burst::WIRE_OVERHEAD;
        flow.count(arrival);
        let traffic = PortTraffic { time, bytes, ce_packets: packet.is_marked().into() };
        let [source, destination] = flow.ports;
        self.ports.observe(source, destination, &traffic, Some(&mut flow.bucket_marks));
        if traits.has(Traits::REQUEST) {
            self.observe_request(at, arrival, traits, bytes, observer);
        } else if traits.has(Traits::RESPONSE) {
            self.observe_response(at, arrival, traits, observer);
        } else if roce.bth.opcode == Opcode::CNP {
            self.observe_cnp(at, time);
            observer.signal(at, self.flows.at(at), Signal::Cnp, arrival.frame);
        }
    }

    pub(super) fn observe_request(
        &mut self,
        at: u32,
        arrival: &Arrival<'_>,
        traits: Traits,
        bytes: u64,
        observer: &mut impl FlowObserver,
    ) {
        let Arrival { time, ip, roce, .. } = *arrival;
        let flow = self.flows.at_mut(at);
        let has_sequence = flow.has_sequence();
        let requester = flow.requester.get_or_insert_default();
        requester.rate.sent(time, bytes);
        if !has_sequence {
            requester.requests.observe_unordered(roce.bth.psn);
            self.observe_boundary(at, arrival, 1, false, observer);
            return;
        }
        if requester.reads.is_some() {
            flow.settle_read(roce, Sighting { time, frame: arrival.frame.number });
        }
        let (span, span_limit) =
            if traits.has(Traits::READ) { flow.read_packets(roce) } else { (1, 1) };
        if traits.has(Traits::STARTS) && !traits.has(Traits::ENDS) {
            flow.full_packets.add(roce.payload_len);
        }
        let requester = flow.requester.get_or_insert_default();
        let observation = requester.requests.observe(&RequestArrival {
            psn: roce.bth.psn,
            span,
            span_limit,
            time,
            frame: arrival.frame.number,
            identification: ip.identification,
        });
        if let Some(jump) = &observation.jump {
            let Requester { requests, round_trips, way_back, .. } = &mut **requester;
            let first_sending = round_trips.first_sending(jump.target);
            let p99 = round_trips.durations().quantile_ns(0.99);
            let has_room = self.recovering_flows < LISTING_FLOWS;
            let is_listing = has_room || self.config.keeps_details;
            let episodes = flow.episodes.get_or_insert_with(|| {
                self.recovering_flows += 1;
                Box::new(Episodes::new(is_listing))
            });
            let frame = arrival.frame.number;
            episodes.begin(jump, *way_back, first_sending, p99, frame, requests.length());
            round_trips.resent_from(jump.target);
            way_back.nak = None;
            way_back.rnr = None;
            // The sender went back with the previous packet, which this one decides.
            if jump.target != requests.unwrap(roce.bth.psn) {
                episodes.resent();
            }
        }
        if observation.is_resent
            && let Some(episodes) = &mut flow.episodes
        {
            episodes.resent();
        }
        if observation.is_resent {
            observer.resent(at, flow, arrival.frame);
        }
        let is_boundary = traits.has_any(Traits::STARTS.with(Traits::ENDS));
        if observation.is_new && (is_boundary || roce.bth.ack_request) {
            let measures = roce.bth.ack_request && !observation.is_resent;
            self.observe_boundary(at, arrival, span, measures, observer);
        }
    }

    /// A request packet, seen for the first time, that starts or ends a message or requests an ACK;
    /// `measures` says whether the ACK belongs to this transmission.
    fn observe_boundary(
        &mut self,
        at: u32,
        arrival: &Arrival<'_>,
        span: u32,
        measures: bool,
        observer: &mut impl FlowObserver,
    ) {
        let Arrival { time, roce, .. } = *arrival;
        let flow = self.flows.at_mut(at);
        let is_open_read = flow.has_open_read();
        let requester = flow.requester.get_or_insert_default();
        let Requester { requests, messages, answers, round_trips, way_back, .. } = &mut **requester;
        let psn = requests.unwrap(roce.bth.psn);
        match roce.bth.opcode.operation() {
            Some(Operation::RdmaReadRequest) => {
                let known = if is_open_read { 0 } else { span };
                answers.get_or_insert_default().asked(psn, known);
            }
            Some(Operation::CompareSwap | Operation::FetchAdd) => {
                answers.get_or_insert_default().asked(psn, 1);
            }
            _ => {}
        }
        let is_reliable = matches!(flow.transport, Transport::Rc | Transport::Xrc);
        if is_reliable {
            round_trips.sent(psn, time, measures, way_back.visible);
        }
        if let Some(message) = messages.observe(roce, psn, time, requests) {
            observer.message(at, flow, &message, roce, arrival.frame);
            if self.config.keeps_details {
                self.messages.push(MessageEvent { key: flow.key, epoch: flow.epoch, message });
            }
        }
        if is_reliable && roce.bth.ack_request && !flow.has_proven_reverse() {
            self.pairing.asked(&flow.key, roce.bth.psn, at, time);
        }
        if flow.transport == Transport::Ud && roce.bth.dest_qpn == Qpn::GSI {
            self.observe_management(arrival);
        }
    }

    fn observe_response(
        &mut self,
        at: u32,
        arrival: &Arrival<'_>,
        traits: Traits,
        observer: &mut impl FlowObserver,
    ) {
        let Arrival { time, roce, .. } = *arrival;
        let psn = roce.bth.psn;
        let operation = roce.bth.opcode.operation();
        let syndrome = roce.aeth.map(|aeth| aeth.syndrome);
        let flow = self.flows.at_mut(at);
        flow.responses.observe(operation, psn, syndrome, arrival.ip.identification);
        if operation == Some(Operation::RdmaReadResponseFirst) {
            flow.full_packets.add(roce.payload_len);
        }
        let is_ack = operation == Some(Operation::Acknowledge);
        // A NAK names a packet that the tap may not have seen: another flow may have requested it.
        let acknowledges = matches!(syndrome, Some(Syndrome::Ack { .. }));
        if is_ack && acknowledges && !flow.has_proven_reverse() {
            self.vote(at, psn, time);
        }
        if let Some(syndrome @ (Syndrome::Nak(_) | Syndrome::RnrNak { .. })) = syndrome {
            observer.signal(at, self.flows.at(at), Signal::Nak(syndrome), arrival.frame);
        }
        let Some(requester) = self.flows.at(at).reverse.map(|reverse| reverse.flow) else { return };
        self.flows.at_mut(requester).acknowledge(Response { psn, time, syndrome, is_ack });
        self.observe_answer(requester, roce, traits);
        let limit = self.flows.at(requester).copy_limit_ns;
        self.flows.at_mut(at).copy_limit_ns = limit;
    }

    /// An ACK on a flow whose reverse is unknown, or known only by its UDP port.
    fn vote(&mut self, at: u32, psn: Psn, time: Timestamp) {
        let key = self.flows.at(at).key;
        let Some((candidate, dest_qpn)) = self.pairing.vote(&key, psn, at, time) else { return };
        // The index may belong to another flow by now, or to none.
        let Some(flow) = self.flows.flows().get(candidate as usize) else { return };
        if flow.key == key.reversed(dest_qpn) && !flow.is_superseded {
            self.flows.link(at, candidate, PairEvidence::PsnAck);
            let Requester { requests, round_trips, .. } =
                self.flows.at_mut(candidate).requester_mut();
            round_trips.distrust_before(requests.unwrap(psn));
        }
        self.pairing.settle(at);
    }

    /// What a response reveals about its READ or atomic.
    fn observe_answer(&mut self, requester: u32, roce: &RocePacket<'_>, traits: Traits) {
        let flow = self.flows.at_mut(requester);
        match roce.bth.opcode.operation() {
            Some(Operation::RdmaReadResponseFirst | Operation::RdmaReadResponseMiddle) => {
                flow.note_read_answer(roce);
            }
            Some(
                Operation::RdmaReadResponseLast
                | Operation::RdmaReadResponseOnly
                | Operation::AtomicAcknowledge,
            ) if !traits.has(Traits::REQUEST) => {
                if let Some(Requester { requests, answers: Some(answers), .. }) =
                    flow.requester.as_deref_mut()
                {
                    answers.answered(requests.unwrap(roce.bth.psn));
                }
                flow.note_read_end(roce.bth.psn);
            }
            _ => {}
        }
    }

    fn observe_cnp(&mut self, at: u32, time: Timestamp) {
        let flow = self.flows.at_mut(at);
        flow.cnps += 1;
        if let Some(reverse) = flow.reverse {
            self.flows.at_mut(reverse.flow).requester_mut().rate.notified(time);
        }
    }

    fn observe_management(&mut self, arrival: &Arrival<'_>) {
        let Arrival { tap, ip, roce, .. } = *arrival;
        let message = match roce.management() {
            Some(Ok(datagram)) => datagram.connection_message(),
            Some(Err(error)) => Some(Err(error)),
            None => return,
        };
        match message {
            Some(Ok(message)) => {
                let (source, destination) = (ip.source.into(), ip.destination.into());
                let pair = self.connections.observe(tap, source, destination, &message);
                if let Some(pair) = pair {
                    self.announce(&pair);
                }
            }
            Some(Err(error)) => self.taps[tap.0 as usize].add_refusal(&error),
            None => {}
        }
    }

    /// The connection manager announced a pair: earlier traffic with these numbers belongs to
    /// another epoch.
    fn announce(&mut self, pair: &AnnouncedPair) {
        for key in [pair.forward, pair.backward] {
            if let Some(at) = self.flows.newest(&key) {
                self.flows.at_mut(at).is_closed = true;
            }
        }
    }

    /// Creates a flow and looks for its reverse.
    #[cold]
    pub(super) fn begin_flow(&mut self, key: FlowKey, epoch: u32, arrival: &Arrival<'_>) -> u32 {
        let rate = self.taps[key.tap.0 as usize].line_rate_bps;
        let source = self.ports.find_or_insert(key.tap, key.source, rate);
        let destination = self.ports.find_or_insert(key.tap, key.destination, rate);
        let mac = arrival.packet.ethernet.map(|ethernet| ethernet.source);
        self.ports.describe(source, destination, mac);
        let opcode = arrival.roce.bth.opcode;
        let port = arrival.roce.udp_source_port;
        let previous = self.flows.newest(&key);
        let previous_port = previous.map(|at| self.flows.at(at).first_udp_source_port);
        let mut flow = Flow::new(key, epoch, opcode, arrival.time, [source, destination]);
        flow.direction = arrival.packet.direction.or(arrival.frame.direction);
        flow.first_udp_source_port = port;
        flow.first_frame = arrival.frame.number;
        let (at, evicted) = self.flows.insert(flow);
        self.duplicates.make_room(self.flows.flows().len());
        if evicted.as_ref().is_some_and(|evicted| evicted.episodes.is_some()) {
            self.recovering_flows -= 1;
        }
        // A superseded epoch released its port when the next one began.
        if let Some(evicted) = evicted.filter(|evicted| !evicted.is_superseded) {
            self.pairing.remove_port(&evicted.key, evicted.first_udp_source_port, at);
        }
        if let Some((previous, previous_port)) = previous.zip(previous_port) {
            self.restarted_epochs += 1;
            // If the previous epoch itself was evicted, nothing of it is left to close.
            if previous != at {
                self.close_reverse(previous);
                self.pairing.remove_port(&key, previous_port, previous);
            }
        }
        let verdict = self.pairing.add_port(&key, port, at);
        self.pair_new(at, verdict);
        at
    }

    fn pair_new(&mut self, at: u32, verdict: PortVerdict) {
        let key = self.flows.at(at).key;
        if let Some(reverse) = self.connections.reverse_of(&key) {
            if let Some(other) = self.flows.newest(&reverse) {
                self.flows.link(at, other, PairEvidence::ConnectionManager);
            }
            return;
        }
        match verdict {
            PortVerdict::Unique(other) if self.has_pairs(at) && self.has_pairs(other) => {
                self.flows.link(at, other, PairEvidence::UdpPort);
            }
            PortVerdict::SharedWith(other) => {
                let shared = self.flows.at(other).reverse;
                if shared.is_some_and(|reverse| reverse.evidence == PairEvidence::UdpPort) {
                    self.flows.unlink(other);
                }
            }
            PortVerdict::Unique(_) | PortVerdict::Nothing => {}
        }
    }

    /// Whether a flow can have a reverse: many queue pairs send datagrams to one.
    fn has_pairs(&self, at: u32) -> bool {
        !matches!(self.flows.at(at).transport, Transport::Ud | Transport::Rd)
    }
}
