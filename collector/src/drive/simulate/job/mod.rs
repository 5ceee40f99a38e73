//! A training job: its ranks, and the messages between them.
//!
//! What a rank does when is here; `rank` is what it is, `edge` a connection to the next rank,
//! `schedule` what there is to do, `seats` where. Of the GPU only times matter: nothing is summed.
//! Sources: NCCL 2.27.7 `src/transport/net.cc` (proxies), `src/device/prims_simple.h` (kernels).

mod alarm;
mod connect;
mod edge;
mod rank;
mod ring_step;
mod schedule;
mod seats;
mod slowness;
mod truth;

use std::collections::BTreeMap;
use std::sync::Arc;

use alarm::{Alarm, Alarms};
use edge::{Edge, Outgoing};
use rank::{Call, Lane, Rank};
use ring_step::Stamp;
use schedule::Schedule;
use slowness::Slowness;

pub use edge::Connection;
pub use seats::Seats;

use super::network::Network;
use super::network::notice::{CallError, Notice, QueuePairId, Work};
use super::scenario::Scenario;
use super::scenario::job::{Cpu, Job};
use super::scenario::map::Map;
use super::time::VirtualTime;
use crate::drive::collective::Operation;
use crate::drive::collective::ring::Ring;
use crate::drive::truth::Record;
use crate::drive::wire::cts::{self, Cts};

/// The CPU takes so long to enqueue a round, ns.
const ENQUEUE_NS: u64 = 60_000;

/// From the end of the work before until a kernel begins, ns.
const KERNEL_START_NS: u64 = 5_000;

/// What a GPU and the proxy take for each message, ns, and for each KiB of it: 100 GB/s.
const MESSAGE_NS: u64 = 2_000;
const KIB_NS: u64 = 10;

/// A job while it runs.
#[derive(Debug)]
pub struct TrainingJob {
    number: u32,
    plan: Job,
    seats: Seats,
    rings: Vec<Ring>,
    schedule: Schedule,
    slowness: Slowness,
    ranks: Vec<Rank>,
    /// Of each rank, channel by channel, to the next rank.
    edges: Vec<Edge>,
    queue_pairs: BTreeMap<QueuePairId, Place>,
    alarms: Alarms,
    work: u64,
    records: Vec<Record>,
    spans: truth::Spans,
    failure: Option<String>,
}

/// What a queue pair is for.
#[derive(Clone, Copy, Debug)]
struct Place {
    edge: usize,
    /// Among those of its edge.
    pair: usize,
    is_sender: bool,
}

impl TrainingJob {
    /// Makes the ranks of job `number` of a scenario, and their queue pairs.
    ///
    /// # Errors
    /// The network refuses.
    pub fn new(
        number: u32,
        scenario: &Scenario,
        map: &Map,
        network: &mut Network,
    ) -> Result<Self, CallError> {
        let plan = scenario.job.get(number as usize).cloned().unwrap_or_default();
        let seed = scenario.seed ^ u64::from(number) << 48;
        let mut random = fastrand::Rng::with_seed(seed);
        let seats = Seats::new(&plan, &scenario.fabric);
        let rings = seats.rings();
        let places = (&seats, rings.as_slice());
        let edges = connect::connect(&plan, scenario, map, places, network, &mut random)?;
        let queue_pairs = edges.iter().enumerate().flat_map(|(edge, of)| {
            let network = of.network.iter();
            network.flat_map(move |network| {
                let place = move |is_sender| {
                    move |(pair, id): (usize, &QueuePairId)| (*id, Place { edge, pair, is_sender })
                };
                let sending = network.sending.iter().enumerate().map(place(true));
                sending.chain(network.receiving.iter().enumerate().map(place(false)))
            })
        });
        let queue_pairs = queue_pairs.collect();
        let ranks = (0..seats.ranks()).map(|rank| Rank::new(seed ^ u64::from(rank + 1) << 16));
        Ok(Self {
            number,
            ranks: ranks.collect(),
            schedule: Schedule::new(&plan),
            slowness: Slowness::of(scenario, number),
            plan,
            seats,
            rings,
            edges,
            queue_pairs,
            alarms: Alarms::new(number),
            work: 0,
            records: Vec::new(),
            spans: truth::Spans::default(),
            failure: None,
        })
    }

    /// Lets each rank begin at its time.
    pub fn begin(&mut self, times: &[VirtualTime], network: &mut Network) {
        for (rank, time) in times.iter().enumerate() {
            self.alarms.set(network, *time, Alarm::Begin { rank });
        }
    }

    /// Something happened; does nothing where it concerns another job.
    ///
    /// # Errors
    /// The network refuses what the job asks for.
    pub fn notice(&mut self, notice: Notice, network: &mut Network) -> Result<(), CallError> {
        match notice {
            Notice::Woken { token } => match self.alarms.take(token) {
                Some(alarm) => self.wake(alarm, network),
                None => Ok(()),
            },
            Notice::Started { at, work } => {
                if let Some((_, edge)) = self.edge_of(at, true) {
                    edge.started(work, network.now());
                }
                Ok(())
            }
            Notice::Sent { at, work } => self.acknowledged(at, work, network),
            Notice::Received { at, bytes, head, immediate, .. } => {
                self.received(at, bytes, immediate.is_some(), head.as_deref(), network)
            }
            Notice::Failed { at, .. } => {
                if let Some(&Place { edge, is_sender, .. }) = self.queue_pairs.get(&at)
                    && let Some(Edge { sender, receiver, channel, .. }) = self.edges.get(edge)
                {
                    let (rank, peer) = if is_sender { (sender, receiver) } else { (receiver, sender) };
                    self.failure.get_or_insert(format!(
                        "job {}: the connection from rank {rank} to rank {peer} on channel \
                         {channel} gave up: its retries ran out",
                        self.number
                    ));
                }
                Ok(())
            }
        }
    }

    /// Rounds that all ranks have ended, and how many there are.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let done = self.ranks.iter().map(|rank| rank.ended).min().unwrap_or(0);
        (done, self.schedule.rounds.len())
    }

    /// Whether nothing is left to do: all is done, or a connection gave up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let (done, rounds) = self.progress();
        let is_answered = self.ranks.iter().all(|rank| rank.calls.is_empty());
        self.failure.is_some() || done == rounds && is_answered
    }

    /// Why it could not go on.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Where its ranks sit.
    #[must_use]
    pub const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// The connection of a rank to the next on a channel: who that is, and what carries it.
    #[must_use]
    pub fn connection(&self, rank: u32, channel: u32) -> (u32, Option<&Connection>) {
        let edge = self.edges.get(self.outgoing(rank as usize, channel as usize));
        edge.map_or((rank, None), |edge| (edge.receiver, edge.network.as_ref()))
    }

    /// What ranks did since the last time.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// The training steps so far.
    #[must_use]
    pub fn iterations(&self) -> Vec<Record> {
        self.spans.records().collect()
    }

    /// All collectives: sequence, training step, whether it warms up, what it is.
    pub fn collectives(&self) -> impl Iterator<Item = (u64, Option<u32>, bool, &Operation)> {
        self.schedule.rounds.iter().flat_map(|round| {
            let of_round = self.schedule.collectives.get(round.collectives.clone());
            let of_round = (round.collectives.start as u64..).zip(of_round.unwrap_or_default());
            of_round.map(|(place, of)| (place, round.iteration, round.is_warmup, of))
        })
    }

    fn outgoing(&self, rank: usize, channel: usize) -> usize {
        rank * self.rings.len() + channel
    }

    fn incoming(&self, rank: usize, channel: usize) -> usize {
        let previous = self.rings.get(channel).map_or(0, |ring| ring.previous(rank as u32));
        self.outgoing(previous as usize, channel)
    }

    fn edge_of(&mut self, at: QueuePairId, is_sender: bool) -> Option<(Place, &mut Edge)> {
        let place = *self.queue_pairs.get(&at).filter(|place| place.is_sender == is_sender)?;
        Some((place, self.edges.get_mut(place.edge)?))
    }

    fn wake(&mut self, alarm: Alarm, network: &mut Network) -> Result<(), CallError> {
        match alarm {
            Alarm::Begin { rank } => self.try_enqueue(rank, network),
            Alarm::Enqueued { rank } => return self.enqueued(rank, network),
            Alarm::Ready { rank, collectives } => {
                let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
                at.ready = at.ready.max(collectives);
                self.try_reduce(rank, network);
            }
            Alarm::Computed { rank } => self.computed(rank, network),
            Alarm::KernelBegins { rank } => return self.begin_kernel(rank, network),
            Alarm::Turn { rank, channel } => return self.turn_done(rank, channel, network),
            Alarm::Arrived { edge, bytes } => {
                if let Some(edge) = self.edges.get_mut(edge) {
                    edge.arrived(0, network.now(), bytes);
                    let (rank, channel) = (edge.receiver as usize, edge.channel as usize);
                    self.try_turn(rank, channel, network);
                }
            }
        }
        Ok(())
    }

    /// The CPU begins to enqueue the next round, if it may.
    fn try_enqueue(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let next = at.enqueued;
        let Some(round) = self.schedule.rounds.get(next) else { return };
        let before = next.checked_sub(1).and_then(|before| self.schedule.rounds.get(before));
        let waits = self.plan.cpu == Cpu::Synchronous || before.is_some_and(|round| round.is_pause);
        let gone = if waits { at.ended } else { at.begun };
        if at.is_enqueuing || gone < next {
            return;
        }
        at.is_enqueuing = true;
        let late = self.slowness.enqueue_ns(rank as u32, round.iteration);
        let time = network.now().after(ENQUEUE_NS + late);
        self.alarms.set(network, time, Alarm::Enqueued { rank });
    }

    /// The CPU has enqueued a round: its collectives may be offered room.
    fn enqueued(&mut self, rank: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
        let Some(round) = self.schedule.rounds.get(at.enqueued) else { return Ok(()) };
        at.is_enqueuing = false;
        at.enqueued += 1;
        for collective in round.collectives.clone() {
            let Some(operation) = self.schedule.collectives.get(collective) else { continue };
            let lanes = schedule::lanes(self.plan.nccl, operation, &self.rings, rank as u32);
            for (channel, lane) in lanes.iter().enumerate() {
                let received = lane.iter().filter(|turn| turn.receives.is_some()).count();
                let ring = self.rings.get(channel);
                let previous = ring.map_or(0, |ring| ring.previous(rank as u32)) as usize;
                if let Some(edge) = self.edges.get_mut(previous * self.rings.len() + channel) {
                    edge.expect(received as u32);
                }
            }
            at.prepared.push_back(lanes);
            let enqueued = network.now();
            let call = Call { enqueued, kernel_began: None, kernel_ended: None, flying: 0 };
            at.calls.insert(collective, call);
        }
        for channel in 0..self.rings.len() {
            self.offer(self.incoming(rank, channel), network)?;
        }
        self.try_compute(rank, network);
        self.try_enqueue(rank, network);
        Ok(())
    }

    /// The GPU begins the next round, if it is enqueued and the one before has ended.
    fn try_compute(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        if at.begun > at.ended || at.begun == at.enqueued {
            return;
        }
        let Some(round) = self.schedule.rounds.get(at.begun) else { return };
        at.begun += 1;
        let now = network.now();
        at.computing_since = Some(now);
        let jitter = if round.is_pause { 0 } else { self.plan.jitter.0 };
        let spread = (at.random.f64() * 2.0 * jitter as f64) as u64;
        let late = self.slowness.compute_ns(rank as u32, round.iteration);
        let time = (round.compute_ns + spread).saturating_sub(jitter) + late;
        if self.plan.overlap && !round.is_pause {
            let count = round.collectives.len() as u64;
            for (done, collective) in (1..count).zip(round.collectives.clone()) {
                let ready = Alarm::Ready { rank, collectives: collective + 1 };
                self.alarms.set(network, now.after(time * done / count), ready);
            }
        }
        self.alarms.set(network, now.after(time), Alarm::Computed { rank });
        self.try_enqueue(rank, network);
    }

    fn computed(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let round = at.begun.checked_sub(1).and_then(|begun| self.schedule.rounds.get(begun));
        let Some((round, since)) = round.zip(at.computing_since.take()) else { return };
        at.ready = at.ready.max(round.collectives.end);
        let computed = truth::compute(rank, round, since, network.now());
        self.records.push(computed);
        self.spans.began(round.iteration, since);
        self.try_reduce(rank, network);
        self.try_end_round(rank, network);
    }

    /// The kernel of the next collective begins, if its input is there and the one before has ended.
    fn try_reduce(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        if at.is_reducing || at.reduced >= at.ready {
            return;
        }
        at.is_reducing = true;
        at.lanes = Vec::new();
        let time = network.now().after(KERNEL_START_NS);
        self.alarms.set(network, time, Alarm::KernelBegins { rank });
    }

    fn begin_kernel(&mut self, rank: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
        let lanes = at.prepared.pop_front().unwrap_or_default();
        at.lanes = lanes.into_iter().map(|turns| Lane { turns, ..Lane::default() }).collect();
        if let Some(call) = at.calls.get_mut(&at.reduced) {
            call.kernel_began = Some(network.now());
        }
        for channel in 0..self.rings.len() {
            self.try_turn(rank, channel, network);
        }
        self.try_end_kernel(rank, network);
        Ok(())
    }

    /// The kernel works on the next message of a channel, if it is here and there is room.
    fn try_turn(&mut self, rank: usize, channel: usize, network: &mut Network) {
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

    /// The kernel has worked on a message: it is used, and what it became may go.
    fn turn_done(
        &mut self,
        rank: usize,
        channel: usize,
        network: &mut Network,
    ) -> Result<(), CallError> {
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

    fn try_end_kernel(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank).filter(|at| at.is_kernel_done()) else { return };
        let ended = at.reduced;
        at.is_reducing = false;
        at.reduced += 1;
        if let Some(call) = at.calls.get_mut(&ended) {
            call.kernel_ended = Some(network.now());
        }
        self.try_end_call(rank, ended, network.now());
        self.try_reduce(rank, network);
        self.try_end_round(rank, network);
    }

    /// A collective ends where its kernel has ended and all that was sent is acknowledged.
    fn try_end_call(&mut self, rank: usize, collective: usize, now: VirtualTime) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let Some(call) = at.calls.get(&collective).copied() else { return };
        if call.kernel_ended.is_none() || call.flying > 0 {
            return;
        }
        at.calls.remove(&collective);
        self.records.push(truth::call(rank, collective, &call, now));
        let of = |round: &&schedule::Round| round.collectives.contains(&collective);
        let iteration = self.schedule.rounds.iter().find(of).and_then(|round| round.iteration);
        self.spans.ended(iteration, now);
    }

    fn try_end_round(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let round = self.schedule.rounds.get(at.ended);
        let is_done = round.is_some_and(|round| at.reduced >= round.collectives.end);
        if at.begun == at.ended || at.computing_since.is_some() || !is_done {
            return;
        }
        at.ended += 1;
        self.try_compute(rank, network);
        self.try_enqueue(rank, network);
    }

    /// Sends the messages of an edge that may go.
    fn send(&mut self, edge: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.edges.get_mut(edge) else { return Ok(()) };
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
                // NCCL gives the size as its processor has it: little-endian.
                immediate: Some(departure.bytes.swap_bytes()),
                head: None,
            };
            self.work += 1;
            network.post(departure.queue_pair, work)?;
        }
        Ok(())
    }

    /// Offers the room of an edge that may be offered.
    fn offer(&mut self, edge: usize, network: &mut Network) -> Result<(), CallError> {
        let Some(at) = self.edges.get_mut(edge) else { return Ok(()) };
        let now = network.now();
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

    fn acknowledged(
        &mut self,
        at: QueuePairId,
        work: u64,
        network: &mut Network,
    ) -> Result<(), CallError> {
        let now = network.now();
        // What a receiver sent are clear-to-sends: nobody waits for them.
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

    fn received(
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
