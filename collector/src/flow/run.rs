//! Packets that were counted where they passed: what they change in the state of their flow.

use super::arrival::Arrival;
use super::burst;
use super::key::FlowKey;
use super::observer::FlowObserver;
use super::port::PortTraffic;
use super::state::{Flow, Sighting};
use super::tracker::FlowTracker;
use crate::decode::packet::{Body, Packet};
use crate::decode::roce::bth::Bth;
use crate::decode::roce::packet::RocePacket;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::run::Run;

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
        let bytes = u64::from(run.wire_len) + burst::WIRE_OVERHEAD;
        let mut marked = run.ecn[Ecn::Ce as usize];
        let [source, destination] = flow.ports;
        for time in run.times() {
            let is_ce = marked > 0;
            marked = marked.saturating_sub(1);
            let traffic = PortTraffic { time, bytes, is_ce };
            self.ports.observe(source, destination, &traffic, Some(&mut flow.bucket_marks));
            flow.rate.sent(time, bytes);
        }
        // What was lost on the way here passed the tap: the numbers up to the frame are no gap.
        let reach = roce.bth.psn.distance_from(run.first_psn).max(0).unsigned_abs();
        let packets = reach.min(run.frames + run.lost).max(run.frames);
        for number in 0..packets {
            let flow = self.flows.at_mut(at);
            let psn = run.first_psn.plus(number);
            if flow.requests.observe_run(psn, packets - number, run.last_time) {
                break;
            }
            // It decides what the packet before it was.
            let bth = Bth { opcode: run.opcode, psn, ack_request: false, ..roce.bth };
            let roce = RocePacket { bth, ..*roce };
            let frame = Frame { time: run.first_time, ..*frame };
            let (tap, time, frame) = (frame.tap, frame.time, &frame);
            let arrival = Arrival { tap, time, frame, packet, ip, roce: &roce };
            self.observe_request(at, &arrival, run.opcode.traits(), 0, observer);
        }
        let flow = self.flows.at_mut(at);
        if let Some(response) = flow.counted.get_or_insert_default().response.take() {
            flow.acknowledge(response);
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
