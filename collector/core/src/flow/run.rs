//! Packets that were counted where they passed: what they change in the state of their flow.

use super::arrival::Arrival;
use super::burst;
use super::key::FlowKey;
use super::observer::FlowObserver;
use super::port::PortTraffic;
use super::state::{Flow, Response, Sighting};
use super::tracker::FlowTracker;
use crate::decode::packet::{Body, Packet};
use crate::decode::roce::bth::Bth;
use crate::decode::roce::packet::RocePacket;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::opcode::Traits;
use crate::model::psn::Psn;
use crate::model::run::Run;
use crate::model::time::Timestamp;

impl FlowTracker {
    /// Takes the run before a frame, which belongs to the same flow, and then is to be observed
    /// itself. The first packet of a flow is handed out: a run of a flow that is not known any more
    /// says nothing of it, and is counted at its tap only.
    pub fn observe_run(
        &mut self,
        run: &Run,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        observer: &mut impl FlowObserver,
    ) {
        let Some(tap) = self.taps.get_mut(frame.tap.0 as usize) else { return };
        tap.add_run(run);
        let (Body::Roce(roce), Some(ip)) = (&packet.body, &packet.ip) else { return };
        let key = FlowKey {
            tap: frame.tap,
            source: ip.source.into(),
            destination: ip.destination.into(),
            dest_qpn: roce.bth.dest_qpn,
        };
        let Some(at) = self.flows.find(&key) else { return };
        let flow = self.flows.at_mut(at);
        flow.count_run(run, frame);
        let (tap, time) = (frame.tap, run.first_time);
        let next = Arrival { tap, time, frame, packet, ip, roce };
        if run.is_of_acks() {
            self.observe_acks(at, run, frame.time);
        } else {
            self.observe_middles(at, run, &next, observer);
        }
        if run.lost > 0 && roce.bth.opcode.traits().has(Traits::REQUEST) {
            self.observe_lost(at, run, roce.bth.psn);
        }
        let flow = self.flows.at_mut(at);
        if let Some(response) = flow.counted.get_or_insert_default().response.take() {
            flow.acknowledge(response);
        }
    }

    /// ACKs of more of a message each; they are told at `now`.
    fn observe_acks(&mut self, at: u32, run: &Run, now: Timestamp) {
        if run.frames == 0 {
            return;
        }
        // ACKs may be held back for longer than buckets of bursts stay open: they are spread over these.
        let open = Timestamp::from_nanos(now.as_nanos().saturating_sub(burst::OPEN_NS));
        let is_late = run.first_time < open;
        let late = Run { first_time: open, last_time: now, ..*run };
        self.meter(at, if is_late { &late } else { run }, &mut |_, _, _| {});
        let flow = self.flows.at_mut(at);
        flow.responses.observe_run(run);
        let Some(requester) = flow.reverse.map(|reverse| reverse.flow) else { return };
        // Which of those between was the first to cover a packet is not known: ACKs that are handed out
        // measure round trips.
        for (psn, time) in [(run.first_psn, run.first_time), (run.last_psn, run.last_time)] {
            let response = Response { psn, time, syndrome: None, is_ack: false };
            self.flows.at_mut(requester).acknowledge(response);
        }
    }

    /// Packets of requests that were lost on the way here passed the tap: up to `next`, as many numbers as
    /// were lost are no gap.
    fn observe_lost(&mut self, at: u32, run: &Run, next: Psn) {
        let requests = &mut self.flows.at_mut(at).requests;
        let Some(high) = requests.high() else { return };
        let missing = next.distance_from(high).saturating_sub(1).max(0).unsigned_abs();
        let packets = missing.min(run.lost);
        if packets > 0 {
            // While it is undecided what the packet before was, they stay a gap.
            _ = requests.observe_run(high.plus(1), packets, run.last_time);
        }
    }

    /// Loads the ports at both ends with a run, and tells `sent` the bytes that it was on the wire.
    fn meter(&mut self, at: u32, run: &Run, sent: &mut dyn FnMut(&mut Flow, Timestamp, u64)) {
        let flow = self.flows.at_mut(at);
        let mut marked = run.ecn[Ecn::Ce as usize];
        let [source, destination] = flow.ports;
        for (time, frames) in run.parts(burst::WIDTHS_NS[0]) {
            let ce_packets = marked.min(frames);
            marked -= ce_packets;
            let bytes = (u64::from(run.wire_len) + burst::WIRE_OVERHEAD) * u64::from(frames);
            let traffic = PortTraffic { time, bytes, ce_packets: ce_packets.into() };
            self.ports.observe(source, destination, &traffic, Some(&mut flow.bucket_marks));
            sent(flow, time, bytes);
        }
    }

    /// Middles of messages; `next` is the frame behind them.
    fn observe_middles(
        &mut self,
        at: u32,
        run: &Run,
        next: &Arrival<'_>,
        observer: &mut impl FlowObserver,
    ) {
        let Arrival { frame, roce, .. } = *next;
        self.meter(at, run, &mut |flow, time, bytes| flow.rate.sent(time, bytes));
        for number in 0..run.frames {
            let flow = self.flows.at_mut(at);
            let psn = run.first_psn.plus(number);
            if flow.requests.observe_run(psn, run.frames - number, run.last_time) {
                return;
            }
            // It decides what the packet before it was.
            let bth = Bth { opcode: run.opcode, psn, ack_request: false, ..roce.bth };
            let roce = RocePacket { bth, ..*roce };
            let frame = Frame { time: run.first_time, ..*frame };
            let arrival = Arrival { frame: &frame, roce: &roce, ..*next };
            self.observe_request(at, &arrival, run.opcode.traits(), 0, observer);
        }
    }
}

impl Flow {
    /// Counts what every packet of a run has.
    fn count_run(&mut self, run: &Run, frame: &Frame<'_>) {
        let frames = u64::from(run.frames);
        self.span.last = self.span.last.max(run.last_time);
        self.frames += frames;
        self.wire_bytes += frames * u64::from(run.wire_len);
        self.payload_bytes += frames * u64::from(run.payload_len());
        self.ecn.add_all(run.ecn);
        if let Some(time) = run.first_ce_time
            && self.first_mark.is_none()
        {
            self.first_mark = Some(Sighting { time, frame: frame.number });
        }
        self.headers.add_alike(frames);
        self.opcodes.add_many(run.opcode, run.frames);
    }
}
