//! How a NIC handles received packets.

use std::collections::VecDeque;

use super::answer::Answer;
use super::queue_pair::QueuePair;
use super::responder::Outcome;
use crate::simulate::network::Network;
use crate::simulate::network::counters::NicCounters;
use crate::simulate::network::event::Event;
use crate::simulate::network::id::NicId;
use crate::simulate::network::notice::Notice;
use crate::simulate::network::packet::{Body, Ecn, RNR_DELAY_NS, Syndrome};
use crate::simulate::network::packet_pool::PacketRef;
use crate::simulate::network::picoseconds::Picoseconds;
use crate::simulate::network::port::PauseReason;
use crate::simulate::network::tap::{DropCause, TapSink};

impl Network {
    /// A packet has arrived at a NIC.
    pub(in crate::simulate::network) fn receive(
        &mut self,
        index: u32,
        ingress: u32,
        reference: PacketRef,
        taps: &mut dyn TapSink,
    ) {
        let nic = &mut self.nics[index as usize];
        let slot = self.pool.get_mut(reference);
        if slot.packet.destination != nic.id {
            return self.refuse(ingress, reference, DropCause::NoRoute, taps);
        }
        let slow_bps = self.ports[ingress as usize].effects.slow_receive_bps;
        let receive = &mut nic.receive;
        let drain_bps = match (receive.plan.drain_bps, slow_bps) {
            (Some(plan), Some(slow)) => Some(plan.min(slow)),
            (plan, slow) => plan.or(slow),
        };
        if drain_bps.is_none() && receive.total_bytes == 0 {
            return self.deliver(index, reference, taps);
        }
        let priority = nic.priorities.priority(slot.packet.dscp);
        let place = usize::from(priority);
        let frame_bytes = slot.packet.frame_bytes;
        let bytes = u64::from(frame_bytes);
        if receive.total_bytes + bytes > receive.plan.buffer_bytes {
            nic.counters.rx_discards_phy += 1;
            nic.counters.rx_prio_buf_discard[place] += 1;
            return self.refuse(ingress, reference, DropCause::NicBuffer, taps);
        }
        slot.priority = priority;
        receive.total_bytes += bytes;
        receive.stored_bytes[place] += bytes;
        let duration = drain_bps
            .map_or(Picoseconds(0), |rate| Picoseconds::of_bytes(u32::from(frame_bytes), rate));
        receive.drained_at = receive.drained_at.max(self.now).after(duration);
        let drained = Event::Drained { nic: index, packet: reference };
        self.events.push(receive.drained_at, drained);
        let is_lossless = self.ports[ingress as usize].lossless.contains(priority);
        if is_lossless && receive.stored_bytes[place] > receive.plan.xoff_bytes {
            self.ask_pause(ingress, priority, PauseReason::Full, taps);
        }
    }

    /// The host's memory has accepted a packet.
    pub(in crate::simulate::network) fn drained(
        &mut self,
        index: u32,
        reference: PacketRef,
        taps: &mut dyn TapSink,
    ) {
        let nic = &mut self.nics[index as usize];
        let slot = self.pool.get(reference);
        let (priority, bytes) = (slot.priority, u64::from(slot.packet.frame_bytes));
        let place = usize::from(priority);
        nic.receive.total_bytes -= bytes;
        nic.receive.stored_bytes[place] -= bytes;
        let port = nic.port;
        if nic.receive.stored_bytes[place] <= nic.receive.plan.xon_bytes {
            self.end_asking(port, priority, PauseReason::Full, taps);
        }
        self.deliver(index, reference, taps);
    }

    /// A packet has reached its destination.
    fn deliver(&mut self, index: u32, reference: PacketRef, taps: &mut dyn TapSink) {
        let nic = &mut self.nics[index as usize];
        let packet = &self.pool.get(reference).packet;
        let (Body::Write(_) | Body::Acknowledge { .. } | Body::Cnp { .. }) = packet.body else {
            return self.pool.remove(reference);
        };
        nic.counters.rx_vport_rdma_unicast_packets += 1;
        nic.counters.rx_vport_rdma_unicast_bytes += u64::from(packet.frame_bytes);
        let is_marked = packet.ecn == Ecn::Ce;
        if is_marked {
            nic.counters.np_ecn_marked_roce_packets += 1;
        }
        let place = match &packet.body {
            Body::Write(write) => nic.place(write.destination_qpn),
            Body::Acknowledge { destination_qpn, .. } | Body::Cnp { destination_qpn } => {
                nic.place(*destination_qpn)
            }
            Body::Datagram { .. } | Body::Pause { .. } => None,
        };
        let place = place.filter(|place| !self.queue_pairs[*place as usize].is_gone);
        let Some(place) = place else { return self.pool.remove(reference) };
        let queue_pair = &mut self.queue_pairs[place as usize];
        let in_order = nic.reorder_ns.is_none();
        accept(&packet.body, queue_pair, in_order, &mut nic.counters, &mut self.notices, self.now);
        self.pool.remove(reference);
        if let (Some(since), Some(patience_ns), false) =
            (queue_pair.responder.stuck_since(), nic.reorder_ns, queue_pair.gap_planned)
        {
            queue_pair.gap_planned = true;
            let due = since.after(Picoseconds::of_nanoseconds(patience_ns));
            self.events.push(due, Event::GapDue { queue_pair: place });
        }
        while let Some(work) = queue_pair.requester.take_completed() {
            self.notices.push_back(Notice::Sent { at: queue_pair.id, work });
        }
        let nic_id = queue_pair.id.nic;
        if queue_pair.responder.owes() && !queue_pair.answer_queued {
            queue_pair.answer_queued = true;
            self.queue_answer(nic_id, place, Answer::Acknowledge, taps);
        }
        if is_marked {
            self.notify(nic_id, place, taps);
        }
        self.schedule(place, taps);
    }

    /// A packet may have been missing for too long.
    pub(in crate::simulate::network) fn gap_due(&mut self, place: u32, taps: &mut dyn TapSink) {
        let queue_pair = &mut self.queue_pairs[place as usize];
        queue_pair.gap_planned = false;
        let nic_id = queue_pair.id.nic;
        let Some(since) = queue_pair.responder.stuck_since() else { return };
        let Some(patience_ns) = self.nics[nic_id.0 as usize].reorder_ns else { return };
        let patience = Picoseconds::of_nanoseconds(patience_ns);
        let mut due = since.after(patience);
        if self.now >= due {
            queue_pair.responder.ask_for_missing(self.now);
            due = self.now.after(patience);
            if !queue_pair.answer_queued {
                queue_pair.answer_queued = true;
                self.queue_answer(nic_id, place, Answer::Acknowledge, taps);
            }
        }
        self.queue_pairs[place as usize].gap_planned = true;
        self.events.push(due, Event::GapDue { queue_pair: place });
    }

    /// The notification point: a CNP for a queue pair that received a marked packet, unless it sent
    /// one recently.
    fn notify(&mut self, nic: NicId, place: u32, taps: &mut dyn TapSink) {
        let Some(dcqcn) = self.nics[nic.0 as usize].dcqcn else { return };
        let queue_pair: &mut QueuePair = &mut self.queue_pairs[place as usize];
        let interval = Picoseconds::of_nanoseconds(dcqcn.cnp_interval_ns);
        let is_soon = queue_pair.last_cnp.is_some_and(|last| self.now < last.after(interval));
        if !is_soon && !queue_pair.cnp_queued {
            queue_pair.cnp_queued = true;
            self.queue_answer(nic, place, Answer::Cnp, taps);
        }
    }
}

/// What a packet does to its queue pair.
fn accept(
    body: &Body,
    queue_pair: &mut QueuePair,
    in_order: bool,
    counters: &mut NicCounters,
    notices: &mut VecDeque<Notice>,
    now: Picoseconds,
) {
    match body {
        Body::Write(write) => match queue_pair.responder.take(write, in_order, now) {
            Outcome::Accepted { completed } => {
                notices.extend(completed.into_iter().map(|message| Notice::Received {
                    at: queue_pair.id,
                    bytes: message.reth.bytes,
                    remote_address: message.reth.remote_address,
                    immediate: message.immediate,
                    head: message.head,
                }));
            }
            Outcome::Duplicate => counters.duplicate_request += 1,
            Outcome::NotReady => {}
            Outcome::OutOfSequence => counters.out_of_sequence += 1,
        },
        Body::Acknowledge { psn, syndrome: Syndrome::Ack, .. } => {
            queue_pair.requester.acknowledge(*psn, now);
        }
        Body::Acknowledge { psn, syndrome: Syndrome::NakSequence, .. } => {
            let requester = &mut queue_pair.requester;
            let is_new =
                if in_order { requester.go_back(*psn, now) } else { requester.repeat(*psn, now) };
            counters.packet_seq_err += u64::from(is_new);
        }
        Body::Acknowledge { psn, syndrome: Syndrome::NotReady, .. } => {
            queue_pair.requester.go_back(*psn, now);
            let delay = Picoseconds::of_nanoseconds(RNR_DELAY_NS);
            queue_pair.next_at = queue_pair.next_at.max(now.after(delay));
        }
        Body::Cnp { .. } => match &mut queue_pair.rate {
            Some(rate) => {
                counters.rp_cnp_handled += 1;
                rate.notified(now);
            }
            None => counters.rp_cnp_ignored += 1,
        },
        Body::Datagram { .. } | Body::Pause { .. } => {}
    }
}
