//! A training job: its ranks, and the messages between them.
//!
//! `schedule` is the work, `seats` the place of ranks; `rank` is a rank's state and `work` its
//! sequence of actions; `edge` is a connection to the next rank and `messages` its traffic. The GPU
//! is modelled by its times only: nothing is summed. Sources: NCCL 2.27.7 `src/transport/net.cc`
//! (proxies), `src/device/prims_simple.h` (kernels).

pub(super) mod alarm;
mod connect;
mod edge;
mod flight_recorder;
mod halt;
mod messages;
mod rank;
pub mod ras;
mod ring_step;
mod schedule;
mod seats;
mod slowness;
mod truth;
mod work;

use std::collections::BTreeMap;

use alarm::{Alarm, Alarms};
use edge::Edge;
use halt::Halts;
use rank::Rank;
use schedule::Schedule;
use slowness::Slowness;

pub use edge::Connection;
pub use seats::Seats;

use super::network::Network;
use super::network::notice::{CallError, Notice, QueuePairId};
use super::scenario::Scenario;
use super::scenario::job::Job;
use super::scenario::map::Map;
use super::time::VirtualTime;
use crate::collective::Operation;
use crate::collective::ring::Ring;
use crate::truth::Record;

/// A running job.
#[derive(Debug)]
pub struct TrainingJob {
    number: u32,
    plan: Job,
    seats: Seats,
    rings: Vec<Ring>,
    schedule: Schedule,
    slowness: Slowness,
    halts: Halts,
    ranks: Vec<Rank>,
    /// Each rank's edges to the next rank, channel by channel.
    edges: Vec<Edge>,
    queue_pairs: BTreeMap<QueuePairId, EdgeEnd>,
    alarms: Alarms,
    work: u64,
    records: Vec<Record>,
    spans: truth::Spans,
    /// Ranks that are done.
    over: usize,
    failure: Option<String>,
}

/// The purpose of a queue pair.
#[derive(Clone, Copy, Debug)]
struct EdgeEnd {
    edge: usize,
    /// Index among those of its edge.
    pair: usize,
    is_sender: bool,
}

impl TrainingJob {
    /// Creates the ranks of job `number` of a scenario, and their queue pairs.
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
                    move |(pair, id): (usize, &QueuePairId)| {
                        (*id, EdgeEnd { edge, pair, is_sender })
                    }
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
            slowness: Slowness::from_scenario(scenario, number),
            halts: Halts::from_scenario(scenario, number),
            plan,
            seats,
            rings,
            edges,
            queue_pairs,
            alarms: Alarms::new(number),
            work: 0,
            records: Vec::new(),
            spans: truth::Spans::default(),
            over: 0,
            failure: None,
        })
    }

    /// Starts each rank at its time.
    pub fn begin(&mut self, times: &[VirtualTime], network: &mut Network) {
        for (rank, time) in times.iter().enumerate() {
            self.alarms.set(network, *time, Alarm::Begin { rank });
        }
        for (halt, time) in self.halts.times() {
            self.alarms.set(network, time, Alarm::Halt { halt });
        }
    }

    /// Handles an event; ignores those of other jobs.
    ///
    /// # Errors
    /// The network refuses a request of the job.
    pub fn notice(&mut self, notice: Notice, network: &mut Network) -> Result<(), CallError> {
        // It has given up, while other jobs go on.
        if self.failure.is_some() {
            return Ok(());
        }
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
                if let Some(&EdgeEnd { edge, is_sender, .. }) = self.queue_pairs.get(&at)
                    && let Some(Edge { sender, receiver, channel, .. }) = self.edges.get(edge)
                {
                    let (rank, peer) =
                        if is_sender { (sender, receiver) } else { (receiver, sender) };
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

    /// Share of all ranks' collectives that is complete, 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let done: f64 = self.ranks.iter().map(Rank::reduced_so_far).sum();
        let all = self.ranks.len() * self.schedule.collectives.len();
        done / all.max(1) as f64
    }

    /// Its queue pairs, at both ends.
    pub fn queue_pairs(&self) -> impl Iterator<Item = QueuePairId> {
        self.queue_pairs.keys().copied()
    }

    /// Whether the job is done or a connection gave up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.failure.is_some() || self.over == self.ranks.len()
    }

    /// Why it could not continue.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The place of its ranks.
    #[must_use]
    pub const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// A rank's connection to the next one on a channel: the next rank, and the connection.
    #[must_use]
    pub fn connection(&self, rank: u32, channel: u32) -> (u32, Option<&Connection>) {
        let edge = self.edges.get(self.outgoing(rank as usize, channel as usize));
        edge.map_or((rank, None), |edge| (edge.receiver, edge.network.as_ref()))
    }

    /// Records since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// The training steps so far.
    #[must_use]
    pub fn iterations(&self) -> Vec<Record> {
        self.spans.records().collect()
    }

    /// All collectives: sequence, training step, whether it is warm-up, and the operation.
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

    fn edge_of(&mut self, at: QueuePairId, is_sender: bool) -> Option<(EdgeEnd, &mut Edge)> {
        let place = *self.queue_pairs.get(&at).filter(|place| place.is_sender == is_sender)?;
        Some((place, self.edges.get_mut(place.edge)?))
    }

    fn wake(&mut self, alarm: Alarm, network: &mut Network) -> Result<(), CallError> {
        match alarm {
            Alarm::Begin { rank } => self.try_enqueue(rank, network),
            Alarm::Halt { halt } => self.halt(halt, network),
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
}
