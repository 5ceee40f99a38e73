//! Messages between ranks: a kernel processes them one by one; proxies send them and offer buffers.

use std::sync::Arc;

use super::TrainingJob;
use super::alarm::Alarm;
use super::edge::{Edge, Outgoing};
use super::halt::Act;
use super::ring_step::Stamp;
use crate::simulate::network::Network;
use crate::simulate::network::notice::{CallError, QueuePairId, Work};
use crate::truth::Record;
use crate::wire::cts::{self, Cts};

/// Time a GPU and the proxy take per message, ns, and per KiB of it: 100 GB/s.
const MESSAGE_NS: u64 = 2_000;
const KIB_NS: u64 = 10;

impl TrainingJob {
    /// The kernel starts on the next message of a channel, if it has arrived and there is space.
    pub(super) fn try_turn(&mut self, rank: usize, channel: usize, network: &mut Network) {
        if self.halts.stops(rank, Act::Kernel, network.now()) {
            return;
        }
        let (incoming, outgoing) = (self.incoming(rank, channel), self.outgoing(rank, channel));
        let Some(at) = self.ranks.get_mut(rank).filter(|at| at.is_reducing) else { return };
        let Some(lane) = at.lanes.get_mut(channel).filter(|lane| !lane.is_busy) else { return };
        let Some(&turn) = lane.turns.get(lane.done) else { return };
        let is_here = |edge: &Edge| turn.receives.is_none() || edge.has_arrival();
        let has_room = |edge: &Edge| turn.sends.is_none() || edge.has_room_to_fill();
        let edges = self.edges.get(incoming).zip(self.edges.get(outgoing));
        if !edges.is_some_and(|(incoming, outgoing)| is_here(incoming) && has_room(outgoing)) {
            return;
        }
        lane.is_busy = true;
        let mut time = MESSAGE_NS + u64::from(turn.bytes) * KIB_NS / 1024;
        if turn.receives.is_some() {
            let round = at.begun.checked_sub(1).and_then(|begun| self.schedule.rounds.get(begun));
            let iteration = round.and_then(|round| round.iteration);
            time += self.slowness.receive_ns(rank as u32, iteration);
        }
        self.alarms.set(network, network.now().after(time), Alarm::Turn { rank, channel });
    }

    /// The kernel has processed a message: its buffer is free, and the result may be sent.
    pub(super) fn turn_done(
        &mut self,
        rank: usize,
        channel: usize,
        network: &mut Network,
    ) -> Result<(), CallError> {
        if self.halts.stops(rank, Act::Kernel, network.now()) {
            return Ok(());
        }
        let (incoming, outgoing) = (self.incoming(rank, channel), self.outgoing(rank, channel));
        let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
        let sequence = at.reduced;
        let Some(lane) = at.lanes.get_mut(channel) else { return Ok(()) };
        let Some(&turn) = lane.turns.get(lane.done) else { return Ok(()) };
        lane.is_busy = false;
        lane.done += 1;
        let stamp = |part, index: &mut u32| {
            let ends_chunk = turn.ends_chunk;
            let stamp = Stamp { sequence: sequence as u64, index: *index, part, ends_chunk };
            *index += u32::from(ends_chunk);
            stamp
        };
        let received = turn.receives.map(|part| stamp(part, &mut lane.received));
        let sent = turn.sends.map(|part| stamp(part, &mut lane.sent));
        if let (Some(stamp), Some(edge)) = (sent, self.edges.get_mut(outgoing)) {
            edge.fill(Outgoing { bytes: turn.bytes, stamp });
            if edge.network.is_some()
                && let Some(call) = at.calls.get_mut(&sequence)
            {
                call.flying += 1;
            }
            self.send(outgoing, network)?;
        }
        if let (Some(stamp), Some(edge)) = (received, self.edges.get_mut(incoming)) {
            let chunk = edge.used(stamp);
            self.records.extend(chunk.map(Record::RingStep));
            let (is_local, sender) = (edge.network.is_none(), edge.sender as usize);
            if is_local {
                edge.released();
                self.try_turn(sender, channel, network);
            } else {
                self.offer(incoming, network)?;
            }
        }
        self.try_turn(rank, channel, network);
        self.try_end_kernel(rank, network);
        Ok(())
    }

    /// Sends the messages of an edge that may be sent.
    pub(super) fn send(&mut self, edge: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.edges.get_mut(edge) else { return Ok(()) };
        if self.halts.stops(at.sender as usize, Act::Send, network.now()) {
            return Ok(());
        }
        if at.network.is_none() {
            while let Some(bytes) = at.hand_over() {
                let time = network.now().after(MESSAGE_NS + u64::from(bytes) * KIB_NS / 1024);
                at.last_arrival = at.last_arrival.max(time);
                self.alarms.set(network, at.last_arrival, Alarm::Arrived { edge, bytes });
            }
            return Ok(());
        }
        while let Some(departure) = at.depart(self.work) {
            let work = Work {
                id: self.work,
                bytes: departure.bytes,
                remote_address: departure.room.address,
                rkey: departure.room.rkey,
                // NCCL passes the size in its processor's order: little-endian.
                immediate: Some(departure.bytes.swap_bytes()),
                head: None,
            };
            self.work += 1;
            network.post(departure.queue_pair, work)?;
        }
        Ok(())
    }

    /// Offers the buffers of an edge that may be offered.
    pub(super) fn offer(&mut self, edge: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.edges.get_mut(edge) else { return Ok(()) };
        let now = network.now();
        if self.halts.stops(at.receiver as usize, Act::Offer, now) {
            return Ok(());
        }
        while let Some((queue_pair, cts, remote_address)) = at.offer(now) {
            let rkey = at.network.as_ref().map_or(0, |network| network.fifo.1);
            let head = Some(Arc::from(cts.encode(self.plan.nccl).as_slice()));
            let (id, bytes) = (self.work, cts::BYTES as u32);
            let work = Work { id, bytes, remote_address, rkey, immediate: None, head };
            self.work += 1;
            network.post(queue_pair, work)?;
        }
        Ok(())
    }

    pub(super) fn acknowledged(
        &mut self,
        at: QueuePairId,
        work: u64,
        network: &mut Network,
    ) -> Result<(), CallError> {
        let now = network.now();
        // A receiver's work requests are clear-to-sends, whose completion is ignored.
        let Some((_, edge)) = self.edge_of(at, true) else { return Ok(()) };
        let (sender, channel) = (edge.sender as usize, edge.channel as usize);
        let (freed, chunks) = edge.acknowledged(work, now);
        self.records.extend(chunks.into_iter().map(Record::RingStep));
        for stamp in freed {
            let collective = stamp.sequence as usize;
            let rank = self.ranks.get_mut(sender);
            if let Some(call) = rank.and_then(|rank| rank.calls.get_mut(&collective)) {
                call.flying -= 1;
            }
            self.try_end_call(sender, collective, now);
        }
        self.try_turn(sender, channel, network);
        Ok(())
    }

    pub(super) fn received(
        &mut self,
        at: QueuePairId,
        bytes: u32,
        is_data: bool,
        head: Option<&[u8]>,
        network: &mut Network,
    ) -> Result<(), CallError> {
        let release = self.plan.nccl;
        if !is_data {
            let cts = head.and_then(|head| Cts::parse(head, release).ok());
            let Some((place, edge)) = self.edge_of(at, true) else { return Ok(()) };
            if let Some(cts) = cts {
                edge.offered(cts);
            }
            return self.send(place.edge, network);
        }
        if let Some((place, edge)) = self.edge_of(at, false) {
            edge.arrived(place.pair, network.now(), bytes);
            let (rank, channel) = (edge.receiver as usize, edge.channel as usize);
            self.try_turn(rank, channel, network);
        }
        Ok(())
    }
}
