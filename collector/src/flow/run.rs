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
        if run.is_of_acks() {
            self.observe_acks(at, run, frame.time);
        } else if run.opcode.traits().has(Traits::REQUEST) {
            let (tap, time) = (frame.tap, run.first_time);
            let first = Arrival { tap, time, frame, packet, ip, roce };
            self.observe_middles(at, run, &first, observer);
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
        // Buckets of bursts do not stay open for as long as ACKs may be held back, and these are small.
        self.meter(at, run, now, run.frames, run.ecn[Ecn::Ce as usize]);
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

    /// Loads the ports at both ends with so many packets of a run; the bytes that they are on the wire.
    fn meter(&mut self, at: u32, run: &Run, time: Timestamp, frames: u32, ce_packets: u32) -> u64 {
        let flow = self.flows.at_mut(at);
        let bytes = (u64::from(run.wire_len) + burst::WIRE_OVERHEAD) * u64::from(frames);
        let traffic = PortTraffic { time, bytes, ce_packets: ce_packets.into() };
        let [source, destination] = flow.ports;
        self.ports.observe(source, destination, &traffic, Some(&mut flow.bucket_marks));
        bytes
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
        let mut marked = run.ecn[Ecn::Ce as usize];
        for (time, frames) in run.parts(burst::WIDTHS_NS[0]) {
            let ce_packets = marked.min(frames);
            marked -= ce_packets;
            let bytes = self.meter(at, run, time, frames, ce_packets);
            self.flows.at_mut(at).rate.sent(time, bytes);
        }
        // What was lost on the way here passed the tap: the numbers up to the frame are no gap.
        let reach = roce.bth.psn.distance_from(run.first_psn).max(0).unsigned_abs();
        let packets = reach.min(run.frames + run.lost).max(run.frames);
        for number in 0..packets {
            let flow = self.flows.at_mut(at);
            let psn = run.first_psn.plus(number);
            if flow.requests.observe_run(psn, packets - number, run.last_time) {
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
