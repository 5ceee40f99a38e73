//! Packets counted in the kernel: how they change the state of their flow.

use super::arrival::Arrival;
use super::burst;
use super::key::FlowKey;
use super::observer::FlowObserver;
use super::port::PortTraffic;
use super::sighting::Sighting;
use super::state::{Flow, Response};
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
    /// Processes the run before a frame of the same flow, which is to be observed next. The first
    /// packet of a flow is delivered: the run of an unknown flow is counted at its tap only.
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
        let Some(at) = self.flows.newest(&key) else { return };
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

    /// ACKs that each acknowledge more of a message, reported at `now`.
    fn observe_acks(&mut self, at: u32, run: &Run, now: Timestamp) {
        if run.frames == 0 {
            return;
        }
        // ACKs may be delayed for longer than burst buckets stay open: they are spread over these.
        let open = Timestamp::from_nanos(now.as_nanos().saturating_sub(burst::OPEN_NS));
        let is_late = run.first_time < open;
        let late = Run { first_time: open, last_time: now, ..*run };
        self.meter(at, if is_late { &late } else { run }, &mut |_, _, _| {});
        let flow = self.flows.at_mut(at);
        flow.responses.observe_run(run);
        let Some(requester) = flow.reverse.map(|reverse| reverse.flow) else { return };
        // Which of the ACKs in between first covered a packet is unknown: delivered ACKs measure
        // round trips.
        for (psn, time) in [(run.first_psn, run.first_time), (run.last_psn, run.last_time)] {
            let response = Response { psn, time, syndrome: None, is_ack: false };
            self.flows.at_mut(requester).acknowledge(response);
        }
    }

    /// Request packets lost between the kernel and here passed the tap: as many PSNs before `next`
    /// are not a gap.
    fn observe_lost(&mut self, at: u32, run: &Run, next: Psn) {
        let requests = &mut self.flows.at_mut(at).requester_mut().requests;
        let Some(high) = requests.high() else { return };
        let missing = next.distance_from(high).saturating_sub(1).max(0).unsigned_abs();
        let packets = missing.min(run.lost);
        if packets > 0 {
            // They stay a gap while the previous packet is undecided.
            _ = requests.observe_run(high.plus(1), packets, run.last_time);
        }
    }

    /// Adds a run to the ports at both ends, and passes its wire bytes to `sent`.
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

    /// Middle packets; `next` is the frame after them.
    fn observe_middles(
        &mut self,
        at: u32,
        run: &Run,
        next: &Arrival<'_>,
        observer: &mut impl FlowObserver,
    ) {
        let Arrival { frame, roce, .. } = *next;
        self.meter(at, run, &mut |flow, time, bytes| flow.requester_mut().rate.sent(time, bytes));
        for number in 0..run.frames {
            let flow = self.flows.at_mut(at);
            let psn = run.first_psn.plus(number);
            let requests = &mut flow.requester_mut().requests;
            if requests.observe_run(psn, run.frames - number, run.last_time) {
                return;
            }
            // It decides what the previous packet was.
            let bth = Bth { opcode: run.opcode, psn, ack_request: false, ..roce.bth };
            let roce = RocePacket { bth, ..*roce };
            let frame = Frame { time: run.first_time, ..*frame };
            let arrival = Arrival { frame: &frame, roce: &roce, ..*next };
            self.observe_request(at, &arrival, run.opcode.traits(), 0, observer);
        }
    }
}

impl Flow {
    /// Counts what all packets of a run have in common.
    fn count_run(&mut self, run: &Run, frame: &Frame<'_>) {
        let frames = u64::from(run.frames);
        self.note_times(run.first_time, run.last_time);
        self.frames += frames;
        self.wire_bytes += frames * u64::from(run.wire_len);
        self.payload_bytes += frames * u64::from(run.payload_len());
        self.ecn.add_all(run.ecn);
        if let Some(time) = run.first_ce_time {
            self.note_mark(Sighting { time, frame: frame.number });
        }
        self.headers.add_alike(frames);
        self.opcodes.add_many(run.opcode, run.frames);
    }
}
