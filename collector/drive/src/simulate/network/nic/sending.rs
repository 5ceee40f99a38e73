//! What a NIC sends next: answers first, then queue pairs in turn, each within its rate.

use super::Nic;
use super::answer::Answer;
use super::queue_pair::QueuePair;
use crate::simulate::network::Network;
use crate::simulate::network::event::Event;
use crate::simulate::network::id::{NicId, PrioritySet};
use crate::simulate::network::notice::Notice;
use crate::simulate::network::packet::{Body, Ecn, Packet};
use crate::simulate::network::packet_pool::PacketRef;
use crate::simulate::network::picoseconds::Picoseconds;
use crate::simulate::network::tap::TapSink;

impl Nic {
    fn push_answer(&mut self, priority: u8, place: u32, answer: Answer) {
        self.answers[usize::from(priority & 7)].push_back((place, answer));
        self.answering |= PrioritySet::only(priority).0;
    }
}

impl Network {
    /// Queues an answer of a responder.
    pub(super) fn queue_answer(
        &mut self,
        nic: NicId,
        place: u32,
        answer: Answer,
        taps: &mut dyn TapSink,
    ) {
        let Some(connection) = self.queue_pairs[place as usize].connection else { return };
        let nic = &mut self.nics[nic.0 as usize];
        let priority = match answer {
            Answer::Acknowledge => connection.priority,
            Answer::Cnp => nic.priorities.priority(nic.cnp_dscp),
        };
        nic.push_answer(priority, place, answer);
        let port = nic.port;
        self.send_next(port, taps);
    }

    /// Gives a queue pair a turn, if it has something to send and no turn is scheduled.
    pub(in crate::simulate::network) fn schedule(&mut self, place: u32, taps: &mut dyn TapSink) {
        let queue_pair = &mut self.queue_pairs[place as usize];
        let Some(connection) = queue_pair.connection else { return };
        if queue_pair.scheduled || !queue_pair.requester.can_send() {
            return;
        }
        queue_pair.scheduled = true;
        if queue_pair.next_at > self.now {
            self.events.push(queue_pair.next_at, Event::Paced { queue_pair: place });
            return;
        }
        let nic = &mut self.nics[queue_pair.id.nic.0 as usize];
        nic.ready[usize::from(connection.priority)].push_back(place);
        nic.requesting |= PrioritySet::only(connection.priority).0;
        let port = nic.port;
        self.send_next(port, taps);
    }

    /// A queue pair may send again.
    pub(in crate::simulate::network) fn paced(&mut self, place: u32, taps: &mut dyn TapSink) {
        self.queue_pairs[place as usize].scheduled = false;
        self.schedule(place, taps);
    }

    /// An ACK may be overdue.
    pub(in crate::simulate::network) fn ack_timeout(&mut self, place: u32, taps: &mut dyn TapSink) {
        let queue_pair = &mut self.queue_pairs[place as usize];
        queue_pair.timeout_planned = false;
        let Some(connection) = queue_pair.connection else { return };
        let Some(since) = queue_pair.requester.awaiting() else { return };
        let due = since.after(Picoseconds::of_nanoseconds(connection.options.timeout_ns));
        if self.now < due {
            queue_pair.timeout_planned = true;
            self.events.push(due, Event::AckTimeout { queue_pair: place });
            return;
        }
        self.nics[queue_pair.id.nic.0 as usize].counters.local_ack_timeout_err += 1;
        let is_selective = self.nics[queue_pair.id.nic.0 as usize].reorder_ns.is_some();
        queue_pair.requester.time_out(connection.options.retries, is_selective);
        if queue_pair.requester.gave_up() {
            for work in queue_pair.requester.take_failed() {
                self.notices.push_back(Notice::Failed { at: queue_pair.id, work });
            }
        }
        self.schedule(place, taps);
    }

    /// The next frame for the port of a NIC.
    pub(in crate::simulate::network) fn next_of_nic(
        &mut self,
        index: u32,
        port: u32,
    ) -> Option<PacketRef> {
        let out = &mut self.ports[port as usize];
        if !out.is_up() {
            return None;
        }
        if let Some(pause) = out.pauses.pop(&self.pool) {
            return Some(pause);
        }
        let paused = out.paused.set;
        let nic = &mut self.nics[index as usize];
        let answering = nic.answering & !paused;
        if answering != 0 {
            // The highest first: CNPs have it.
            return self.next_answer(index, 7 - answering.leading_zeros() as u8);
        }
        loop {
            let out = &mut self.ports[port as usize];
            let requesting = self.nics[index as usize].requesting;
            let priority = out.arbiter.choose((requesting | out.waiting) & !paused)?;
            let mut next = out.queue_mut(priority).pop(&self.pool);
            out.queue_changed(priority);
            if next.is_none() {
                next = self.next_request(index, port, priority);
            }
            if let Some(reference) = next {
                let frame_bytes = self.pool.get(reference).packet.frame_bytes;
                self.ports[port as usize].arbiter.charge(priority, frame_bytes);
                return next;
            }
        }
    }

    fn next_answer(&mut self, index: u32, priority: u8) -> Option<PacketRef> {
        let nic = &mut self.nics[index as usize];
        let answers = &mut nic.answers[usize::from(priority)];
        let (place, answer) = answers.pop_front()?;
        if answers.is_empty() {
            nic.answering &= !PrioritySet::only(priority).0;
        }
        let queue_pair = &mut self.queue_pairs[place as usize];
        let destination_qpn = queue_pair.connection?.peer.qpn;
        let body = match answer {
            Answer::Acknowledge => {
                queue_pair.answer_queued = false;
                queue_pair.responder.answer(destination_qpn)
            }
            Answer::Cnp => {
                queue_pair.cnp_queued = false;
                queue_pair.last_cnp = Some(self.now);
                nic.counters.np_cnp_sent += 1;
                Body::Cnp { destination_qpn }
            }
        };
        let packet = nic.packet(queue_pair, body)?;
        Some(self.pool.add(packet))
    }

    /// The next packet of the queue pair whose turn it is; `None` if it has none left.
    fn next_request(&mut self, index: u32, port: u32, priority: u8) -> Option<PacketRef> {
        let nic = &mut self.nics[index as usize];
        let ready = &mut nic.ready[usize::from(priority)];
        let place = ready.pop_front();
        if ready.is_empty() {
            nic.requesting &= !PrioritySet::only(priority).0;
        }
        let place = place?;
        let queue_pair = &mut self.queue_pairs[place as usize];
        queue_pair.scheduled = false;
        let connection = queue_pair.connection?;
        let options = connection.options;
        let requester = &mut queue_pair.requester;
        let request = requester.take(connection.peer.qpn, options.mtu, nic.ack_every, self.now)?;
        if let (Some(since), false) = (requester.awaiting(), queue_pair.timeout_planned) {
            queue_pair.timeout_planned = true;
            let due = since.after(Picoseconds::of_nanoseconds(options.timeout_ns));
            self.events.push(due, Event::AckTimeout { queue_pair: place });
        }
        if let Some(work) = request.starts {
            self.notices.push_back(Notice::Started { at: queue_pair.id, work });
        }
        let packet = nic.packet(queue_pair, Body::Write(request.write))?;
        let port = &self.ports[port as usize];
        let distance = queue_pair
            .rate
            .as_mut()
            .and_then(|rate| rate.sent(port.wire_bytes(packet.frame_bytes), self.now));
        queue_pair.next_at = match distance {
            Some(distance) => queue_pair.next_at.max(self.now).after(distance),
            None => self.now,
        };
        if queue_pair.requester.can_send() {
            queue_pair.scheduled = true;
            if queue_pair.next_at <= self.now.after(port.occupation(packet.frame_bytes)) {
                nic.ready[usize::from(priority)].push_back(place);
                nic.requesting |= PrioritySet::only(priority).0;
            } else {
                self.events.push(queue_pair.next_at, Event::Paced { queue_pair: place });
            }
        }
        Some(self.pool.add(packet))
    }
}

impl Nic {
    /// Adds headers to `body`.
    fn packet(&mut self, queue_pair: &QueuePair, body: Body) -> Option<Packet> {
        let connection = queue_pair.connection?;
        let options = connection.options;
        let (dscp, ecn) = match body {
            Body::Cnp { .. } => (self.cnp_dscp, Ecn::NotEct),
            _ => (options.dscp, options.ecn),
        };
        let frame_bytes = connection.frame_bytes(&body);
        self.counters.tx_vport_rdma_unicast_packets += 1;
        self.counters.tx_vport_rdma_unicast_bytes += u64::from(frame_bytes);
        Some(Packet {
            source: self.id,
            destination: connection.peer.nic,
            body,
            udp_source_port: options.udp_source_port,
            ip_identification: self.next_identification(),
            frame_bytes,
            dscp,
            ecn,
            hops: 0,
        })
    }
}
