//! Which connection of a rank brings what another one carries on, where channels are not known: the start
//! of the job was not captured.
//!
//! In an AllGather, and in the second half of an AllReduce, a rank sends chunks on as they came: their first
//! bytes are the same. And a chunk leaves only after it has arrived: of several incoming connections, one
//! that would have brought chunks after they were sent on is not the one. Channels that always run in step
//! leave several possible: any of them gives nearly the same waits, so they are paired in order.

use std::collections::BTreeMap;

use super::edge::Inputs;
use super::view::View;
use crate::analysis::collective::{Collective, ConnectionTransfers};
use crate::link::job::{CommunicatorId, Job, NetConnection, NetConnectionId};

/// Fewest messages that tell anything.
const LEAST_CHECKS: u32 = 50;

/// More say no more.
const MOST_CHECKS: u32 = 4096;

/// Data is sent on as it came in at least one of so many messages.
const FORWARDED_IN: u32 = 4;

/// A connection that brings chunks too late in one of so many messages is not the one ...
const TOO_LATE_IN: u32 = 20;

/// ... and one that does so in fewer than one of so many may be: packets are sent again, and captured out
/// of order.
const IN_TIME_BUT: u32 = 50;

/// The two connections of a channel at a rank.
#[derive(Clone, Debug, Default)]
pub struct Feeds {
    /// The incoming connection of each outgoing one.
    incoming: BTreeMap<NetConnectionId, NetConnectionId>,
    outgoing: BTreeMap<NetConnectionId, NetConnectionId>,
}

/// A rank of a communicator.
type Place = (CommunicatorId, u32);

/// Whether one connection can feed another.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Messages of which it is known when they left and when the chunk in them arrived.
    checks: u32,
    /// Those that left before.
    early: u32,
    /// Messages of which the first bytes are known on both connections.
    heads: u32,
    /// Those that are the same.
    same: u32,
}

impl Trial {
    const fn is_possible(self) -> bool {
        self.checks >= LEAST_CHECKS && self.early * IN_TIME_BUT <= self.checks
    }

    const fn is_impossible(self) -> bool {
        self.checks >= LEAST_CHECKS && self.early * TOO_LATE_IN >= self.checks
    }

    /// Data was sent on as it came. Of an AllReduce that is half of it.
    const fn is_forwarded(self) -> bool {
        self.heads >= LEAST_CHECKS && self.same * FORWARDED_IN >= self.heads
    }

    /// Data was not sent on as it came, as in a ReduceScatter or on another channel.
    const fn is_changed(self) -> bool {
        self.heads >= LEAST_CHECKS && self.same * IN_TIME_BUT <= self.heads
    }
}

/// Trials by outgoing and incoming connection.
type Trials = BTreeMap<NetConnectionId, BTreeMap<NetConnectionId, Trial>>;

impl Feeds {
    /// From all ring collectives, of connections without a known channel.
    #[must_use]
    pub fn new(job: &Job, collectives: &[Collective]) -> Self {
        let mut trials: BTreeMap<Place, Trials> = BTreeMap::new();
        for collective in collectives {
            for (place, [incoming, outgoing]) in crossings(job, collective) {
                if incoming.len() < 2 || incoming.len() != outgoing.len() {
                    continue;
                }
                let of_place = trials.entry(place).or_default();
                for out in &outgoing {
                    for into in &incoming {
                        let of_out = of_place.entry(out.connection).or_default();
                        let trial = of_out.entry(into.connection).or_default();
                        if trial.checks.max(trial.heads) < MOST_CHECKS {
                            check(job, collective, (into, out), trial);
                        }
                    }
                }
            }
        }
        let mut feeds = Self::default();
        for trials in trials.values() {
            feeds.conclude_by_data(trials);
            feeds.conclude_by_time(trials);
            feeds.conclude_in_order(trials);
        }
        feeds
    }

    /// The connection that brings what `outgoing` carries on; `None` if not known.
    #[must_use]
    pub fn into(&self, outgoing: NetConnectionId) -> Option<NetConnectionId> {
        self.incoming.get(&outgoing).copied()
    }

    /// The connection that carries on what `incoming` brings; `None` if not known.
    #[must_use]
    pub fn out_of(&self, incoming: NetConnectionId) -> Option<NetConnectionId> {
        self.outgoing.get(&incoming).copied()
    }

    /// One connection brings the data that is sent on, and no other one does.
    fn conclude_by_data(&mut self, trials: &Trials) {
        for (out, of_out) in trials {
            let mut forwarded = of_out.iter().filter(|(_, trial)| trial.is_forwarded());
            let (Some((into, _)), None) = (forwarded.next(), forwarded.next()) else { continue };
            let mut others = of_out.iter().filter(|(other, _)| *other != into);
            if others.all(|(_, trial)| trial.is_changed()) && !self.outgoing.contains_key(into) {
                self.add(*out, *into);
            }
        }
    }

    /// Each connection feeds one: what is taken leaves fewer for the others.
    fn conclude_by_time(&mut self, trials: &Trials) {
        loop {
            let before = self.incoming.len();
            for (out, of_out) in trials {
                if self.incoming.contains_key(out) {
                    continue;
                }
                let left = of_out.iter().filter(|(into, _)| !self.outgoing.contains_key(into));
                let mut left = left.filter(|(_, trial)| !trial.is_impossible());
                let (Some((into, trial)), None) = (left.next(), left.next()) else { continue };
                if trial.is_possible() {
                    self.add(*out, *into);
                }
            }
            if self.incoming.len() == before {
                return;
            }
        }
    }

    /// What is left is paired in order of queue pair numbers, as channels are set up, if all of it is
    /// possible.
    fn conclude_in_order(&mut self, trials: &Trials) {
        let left: Vec<_> =
            trials.iter().filter(|(out, _)| !self.incoming.contains_key(out)).collect();
        let Some((_, of_out)) = left.first() else { return };
        let free = |into: &&NetConnectionId| !self.outgoing.contains_key(into);
        let incoming: Vec<NetConnectionId> = of_out.keys().filter(free).copied().collect();
        let may_feed = |of_out: &BTreeMap<NetConnectionId, Trial>, into: &NetConnectionId| {
            of_out.get(into).is_some_and(|trial| trial.is_possible())
        };
        let is_any =
            left.iter().all(|(_, of_out)| incoming.iter().all(|into| may_feed(of_out, into)));
        if is_any && incoming.len() == left.len() {
            let outgoing: Vec<NetConnectionId> = left.iter().map(|(out, _)| **out).collect();
            outgoing.into_iter().zip(incoming).for_each(|(out, into)| self.add(out, into));
        }
    }

    fn add(&mut self, out: NetConnectionId, into: NetConnectionId) {
        self.incoming.insert(out, into);
        self.outgoing.insert(into, out);
    }
}

/// The connections of unknown channels that carry a ring collective into and out of each rank.
fn crossings<'a>(
    job: &Job,
    collective: &'a Collective,
) -> BTreeMap<Place, [Vec<&'a ConnectionTransfers>; 2]> {
    let mut crossings: BTreeMap<Place, [Vec<&ConnectionTransfers>; 2]> = BTreeMap::new();
    if collective.ring_order.is_none() {
        return crossings;
    }
    for on in &collective.transfers {
        let Some(connection) = job.connection(on.connection) else { continue };
        let NetConnection { channel, sender, receiver, .. } = connection;
        if channel.is_some() {
            continue;
        }
        for (side, rank) in [receiver, sender].into_iter().enumerate() {
            let Some(rank) = rank else { continue };
            let place = (collective.communicator, *rank);
            crossings.entry(place).or_default()[side].push(on);
        }
    }
    crossings
}

/// Compares what came on one connection, and when, with what left on another.
fn check(
    job: &Job,
    collective: &Collective,
    (into, out): (&ConnectionTransfers, &ConnectionTransfers),
    trial: &mut Trial,
) {
    let (Some(ring), Some(incoming), Some(outgoing)) =
        (collective.ring_order, job.connection(into.connection), job.connection(out.connection))
    else {
        return;
    };
    let view = View::new(outgoing, out.places.clone()).filter(View::is_of_sender);
    let transfers = incoming.transfers.get(into.places.clone());
    let (Some(view), Some(transfers)) = (view, transfers) else { return };
    let inputs = Inputs { ring, transfers, from: incoming.sender };
    let Some(first) = view.transfers().first().map(|first| first.number) else { return };
    for left in view.transfers() {
        let at = left.number.checked_sub(first);
        let Some(came) = at.and_then(|at| inputs.message(at)) else { continue };
        if let Some((left, came)) = left.sent.zip(came.received) {
            trial.checks += 1;
            trial.early += u32::from(left.first < came.last);
        }
        if let Some((left, came)) = left.head.zip(came.head) {
            trial.heads += 1;
            trial.same += u32::from(left == came);
        }
    }
}
