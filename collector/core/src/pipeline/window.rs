//! A window on live traffic: messages older than that are forgotten, so that memory and the time of
//! an analysis stay bounded.
//!
//! So are flows, TCP connections, and all facts about a communicator whose last sign of life is older.
//! Signs of life are its packets, an open TCP connection of its bootstrap, and a watched process that has
//! not ended: a job that pauses, or hangs, longer than the window keeps its ranks. Training steps in the
//! window have the same values as in a report on everything.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::Pipeline;
use super::lane::{Lane, Records};
use crate::analysis::judged::JudgedIteration;
use crate::analysis::understanding::Understanding;
use crate::flow::key::FlowKey;
use crate::flow::state::Flow;
use crate::link::control::plane as control;
use crate::link::job::{CommunicatorId, Identity, NetConnection, Ownership, Transfer};
use crate::model::health::event::HealthEvent;
use crate::model::time::{Span, Timestamp};

/// The window shrinks if less than 1/`LEAST_ROOM` of the message slots are free ...
const LEAST_ROOM: usize = 8;
/// ... by 1/`CROWDED_PART`.
const CROWDED_PART: u64 = 4;

/// Counters are kept as long as the messages in the window, but for at most this many windows.
const COUNTER_WINDOWS: u64 = 4;

/// An open TCP connection without a byte for a day has lost its other end: nobody could say that it ended.
const SILENT_NS: u64 = 24 * 3_600_000_000_000;

/// Generations of communicators split from each other.
const LINEAGE: usize = 16;

/// What is not over.
#[derive(Default)]
struct Living {
    /// By their numbers in the latest understanding.
    communicators: BTreeSet<CommunicatorId>,
    /// By their TCP connections.
    control: control::Living,
}

impl Pipeline {
    /// Drops messages that passed more than `window_ns` before the latest one, and later ones if
    /// memory is short. `understanding` is the latest of this pipeline: its training steps keep
    /// their numbers, and none in the window is cut.
    ///
    /// NIC counters are kept for as long.
    pub fn slide(&mut self, window_ns: u64, understanding: &Understanding) {
        self.slide_messages(window_ns, understanding);
        self.forget_ended(window_ns, understanding);
        let Some(latest) = self.counters.latest() else { return };
        let messages = self.messages();
        let bound = before(latest, window_ns);
        let bound = messages.map_or(bound, |span| bound.min(span.first));
        // The messages of a finished job stay, but NICs go on counting.
        let least = before(latest, window_ns.saturating_mul(COUNTER_WINDOWS));
        self.counters.forget_before(bound.max(least));
    }

    /// Forgets flows, connections and communicators without a sign of life within the window, which ends
    /// with the latest of all.
    fn forget_ended(&mut self, window_ns: u64, understanding: &Understanding) {
        let flows = self.lane.tracker.flows().flows();
        let latest = flows.iter().map(|flow| flow.span.last).max();
        let messages = self.messages();
        let Some(latest) = latest.max(messages.map(|span| span.last)) else { return };
        let (bound, silent) = (before(latest, window_ns), before(latest, SILENT_NS.max(window_ns)));
        let living = self.living(bound, silent, understanding);
        let (table, job) = (understanding.state.tracker.flows(), understanding.state.job.as_ref());
        let owned = |at: u32| {
            let Ownership::Connection { connection, .. } = job?.owner(at)? else { return None };
            Some(job?.connection(connection)?.communicator)
        };
        let kept: HashSet<(FlowKey, u32), FixedState> = (0..)
            .zip(table.flows())
            .filter(|(at, _)| owned(*at).is_some_and(|of| living.communicators.contains(&of)))
            .map(|(_, flow)| (flow.key, flow.epoch))
            .collect();
        let is_over =
            |flow: &Flow| flow.span.last < bound && !kept.contains(&(flow.key, flow.epoch));
        let Self {
            lane: Lane { tracker, records, .. }, linking, processes, numbering, health, ..
        } = self;
        let forgotten = tracker.forget(is_over, &mut |at, from| {
            if let Some(records) = records {
                records.traffic.forget_flow(at, from);
            }
        });
        health.add(HealthEvent::FlowForgottenFlows, forgotten);
        processes.forget_before(bound);
        if let Some(linking) = linking {
            linking.streams.forget(bound, silent);
            linking.farewells.forget_before(silent);
            let forgotten = linking.control.forget(bound, silent, &living.control);
            health.add(HealthEvent::ControlForgottenConnections, forgotten);
            let servers = linking.control.servers();
            linking.attempts.forget(bound, silent, |server| servers.contains(server));
        }
        if let Some(Records { traffic, .. }) = records {
            traffic.forget_before(traffic.span().map_or(bound, |span| span.first));
        }
        if let Some(job) = job {
            let identities: BTreeSet<Identity> = living
                .communicators
                .iter()
                .filter_map(|id| Some(job.communicator(*id)?.identity))
                .collect();
            numbering.retain(|identity| identities.contains(identity));
        }
    }

    /// The communicators with a sign of life since `bound`.
    fn living(&self, bound: Timestamp, silent: Timestamp, understanding: &Understanding) -> Living {
        let mut living = Living::default();
        if let Some(linking) = &self.linking {
            living.control.magics = linking.control.living_magics(bound, silent);
        }
        living.control.magics.extend(self.processes.magics());
        let Some(job) = &understanding.state.job else { return living };
        let flows = understanding.state.tracker.flows().flows();
        let owners = flows.iter().zip(&job.owners).filter(|(flow, _)| flow.span.last >= bound);
        let connections = owners.filter_map(|(_, owner)| match owner {
            Ownership::Connection { connection, .. } => job.connection(*connection),
            Ownership::Nobody(_) => None,
        });
        let over_tcp = job.connections.iter().filter(|one| {
            let latest = |one: &Transfer| one.received.or(one.sent).map(|span| span.last);
            let latest = one.transfers.last().and_then(latest);
            one.socket.is_some() && latest.is_some_and(|latest| latest >= bound)
        });
        living.communicators = connections.chain(over_tcp).map(|one| one.communicator).collect();
        let by_magic = job.magics.iter().filter(|(magic, _)| living.control.magics.contains(magic));
        living.communicators.extend(by_magic.map(|(_, id)| *id));
        // What a child was split from says who its ranks are.
        for id in living.communicators.clone() {
            let parent = |id: &CommunicatorId| job.communicator(*id)?.parent;
            let lineage = std::iter::successors(Some(id), parent).take(LINEAGE);
            living.communicators.extend(lineage);
        }
        let magics = job.magics.iter().filter(|(_, id)| living.communicators.contains(id));
        living.control.magics.extend(magics.map(|(magic, _)| *magic));
        let own =
            job.connections.iter().filter(|one| living.communicators.contains(&one.communicator));
        // Where the start was not captured, which end connected is a guess.
        let both = |(one, other)| [(one, other), (other, one)];
        living.control.streams = own.filter_map(NetConnection::stream).flat_map(both).collect();
        living
    }

    /// Whether there is little room for more messages: analyse, then slide the window.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let room = self.room().zip(self.message_capacity);
        room.is_some_and(|(room, capacity)| room < capacity / LEAST_ROOM)
    }

    fn slide_messages(&mut self, window_ns: u64, understanding: &Understanding) {
        let is_crowded = self.is_crowded();
        let Some(Span { first, last }) = self.messages() else { return };
        let mut bound = first.max(before(last, window_ns));
        if is_crowded {
            bound = bound.max(first.plus_nanos(last.nanos_since(first) / CROWDED_PART));
        }
        if bound <= first {
            return;
        }
        let starts = starts(understanding);
        let cut = starts.values().map(|starts| begin(starts, bound).unwrap_or(first)).min();
        let cut = cut.filter(|_| !is_crowded).unwrap_or(bound);
        if cut <= first {
            return;
        }
        if let Some(records) = &mut self.lane.records {
            records.traffic.forget_before(cut);
        }
        if let Some(linking) = &mut self.linking {
            linking.control.forget_before(cut);
        }
        if cut > before(last, window_ns) {
            self.health.add(HealthEvent::LinkWindowShortened, 1);
        }
        starts.into_iter().for_each(|(of, starts)| self.numbering.learn(of, starts));
    }
}

/// Start of the training step before the one that contains `bound`: one more is kept, since a
/// training step may begin before the last messages of the previous one have passed.
fn begin(starts: &[(Timestamp, u32)], bound: Timestamp) -> Option<Timestamp> {
    let begun = starts.partition_point(|(start, _)| *start <= bound);
    starts.get(begun.checked_sub(2)?).map(|(start, _)| *start)
}

/// Starts and numbers of each job's training steps, in order of time.
fn starts(understanding: &Understanding) -> BTreeMap<Identity, Vec<(Timestamp, u32)>> {
    let mut starts: BTreeMap<Identity, Vec<_>> = BTreeMap::new();
    for JudgedIteration { iteration, .. } in &understanding.iterations {
        let Some(of) = understanding.identity(iteration.communicator) else { continue };
        starts.entry(of).or_default().push((iteration.span.first, iteration.number));
    }
    starts
}

fn before(time: Timestamp, nanos: u64) -> Timestamp {
    Timestamp::from_nanos(time.as_nanos().saturating_sub(nanos))
}
