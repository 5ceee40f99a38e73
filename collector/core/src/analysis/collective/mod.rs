//! Collectives: which messages belong to one call, what was called, and where its parts lie.

pub mod assemble;
pub mod bandwidth;
pub mod calls;
pub mod cut;
pub mod forwarding;
pub mod group;
pub mod lane;
pub mod plan;
pub mod point_to_point;
pub mod reading;
pub mod ring;
pub mod search;
pub mod slicing;
pub mod stream;
mod thresholds;
pub mod traffic;

use std::ops::Range;

use crate::link::evidence::Evidence;
use crate::link::job::{CommunicatorId, Job, NetConnectionId, Transfer};
use crate::model::grade::Grade;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

/// The collectives of `job`, by communicator and order of time.
#[must_use]
pub fn find(job: &Job) -> Vec<Collective> {
    let mut all = Vec::new();
    for (place, communicator) in job.communicators.iter().enumerate() {
        let id = CommunicatorId(place as u32);
        let traffic = traffic::Traffic::new(job, id, communicator);
        let explained = search::explain(&traffic);
        let collectives = explained
            .iter()
            .filter_map(|explained| assemble::ring_or_tree(job, id, &traffic, explained))
            .collect();
        let mut found = merge(collectives, point_to_point::find(job, id, &traffic));
        let is_counted_from_init = traffic.is_from_start();
        for (sequence, collective) in (0..).zip(&mut found) {
            collective.sequence = sequence;
            collective.is_counted_from_init = is_counted_from_init;
        }
        doubt_halves(job, id, &mut found);
        traffic.calls.settle(&mut found, traffic.nranks);
        all.append(&mut found);
    }
    all
}

/// Half of an AllReduce looks like a whole ReduceScatter or AllGather. So does what is left of one
/// where messages are missing: at both ends of the capture, and anywhere if it has holes.
fn doubt_halves(job: &Job, id: CommunicatorId, found: &mut [Collective]) {
    let may_be_half = |one: &Collective| {
        matches!(one.kind, CollectiveKind::ReduceScatter | CollectiveKind::AllGather)
            && !one.alternatives.contains(&CollectiveKind::AllReduce)
    };
    if !found.iter().any(may_be_half) {
        return;
    }
    let has_hole = |transfers: &[Transfer]| {
        transfers.windows(2).any(|pair| pair[1].number != pair[0].number + 1)
            || transfers.iter().any(|transfer| transfer.bytes.is_none())
    };
    let mut connections = job.connections.iter().filter(|one| one.communicator == id);
    let has_holes = connections.any(|one| one.unmatched > 0 || has_hole(&one.transfers));
    let last = found.len().saturating_sub(1);
    for (at, one) in found.iter_mut().enumerate() {
        let is_at_end = at == last || at == 0 && !one.is_counted_from_init;
        if (has_holes || is_at_end) && may_be_half(one) {
            one.alternatives.push(CollectiveKind::AllReduce);
        }
    }
}

/// Both in order of time, without a change to the order of either.
fn merge(one: Vec<Collective>, other: Vec<Collective>) -> Vec<Collective> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let mut other = other.into_iter().peekable();
    for next in one {
        merged.extend(std::iter::from_fn(|| {
            other.next_if(|earlier| earlier.span.first < next.span.first)
        }));
        merged.push(next);
    }
    merged.extend(other);
    merged
}

/// Counts what nothing explains, and what was seen in part.
pub fn add_health(collectives: &[Collective], health: &mut Health) {
    let unknown = || collectives.iter().filter(|one| one.kind == CollectiveKind::Unknown);
    health.add(HealthEvent::CollectivesUnknown, unknown().count() as u64);
    health
        .add(HealthEvent::CollectivesUnexplainedMessages, unknown().map(|one| one.messages).sum());
    let without_bytes = collectives.iter().filter(|one| one.bytes.is_none());
    health.add(HealthEvent::CollectivesIncomplete, without_bytes.count() as u64);
}

/// One collective.
#[derive(Clone, Debug)]
pub struct Collective {
    /// Its communicator.
    pub communicator: CommunicatorId,
    /// Number on the communicator, from 0.
    pub sequence: u64,
    /// The communicator's first collective was seen, so that the number is its own; else it is
    /// counted from the first that was seen.
    pub is_counted_from_init: bool,
    /// What it does.
    pub kind: CollectiveKind,
    /// What it could be as well, without `kind`.
    pub alternatives: Vec<CollectiveKind>,
    /// How it is carried out.
    pub algorithm: Algorithm,
    /// The protocol of its messages.
    pub protocol: Protocol,
    /// Bytes as nccl-tests counts them (of AllGather and ReduceScatter the total over ranks, of
    /// AlltoAll what a rank sends to all); `None` where messages are missing.
    pub bytes: Option<u64>,
    /// The bytes are rounded by the protocol, or part of them was not seen.
    pub is_estimated: bool,
    /// In which order messages are passed on; `None` where it is no ring of own chunks, or where
    /// messages are missing.
    pub ring_order: Option<RingOrder>,
    /// Channels that carry it.
    pub channels: u32,
    /// Its messages on all connections that were seen.
    pub messages: u64,
    /// From the first data packet to the last, or to the end of the recovery that brought its data.
    pub span: Span,
    /// Its parts, loop by loop, in order of time; of a tree or point to point, none.
    pub parts: Vec<Part>,
    /// Its ranks' times, ascending.
    pub ranks: Vec<RankTimes>,
    /// Its messages by connection, ascending.
    pub transfers: Vec<ConnectionTransfers>,
    /// How sure all this is.
    pub grade: Grade,
    /// Reasons.
    pub evidence: Vec<Evidence>,
}

/// How the messages of a ring collective follow from each other: of each loop a rank sends its own
/// chunk first, then what it received (NCCL `all_reduce.h`, `all_gather.h`, `reduce_scatter.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingOrder {
    /// Messages of a chunk.
    pub per_chunk: u64,
    /// Messages of a loop.
    pub per_loop: u64,
}

impl RingOrder {
    /// Of the messages that its sender receives in the collective, the one that message `at` passes
    /// on; `None` where `at` is of the sender's own chunk. Both count from 0.
    #[must_use]
    pub const fn passes_on(self, at: u64) -> Option<u64> {
        match at.checked_rem(self.per_loop) {
            Some(in_loop) if in_loop >= self.per_chunk => at.checked_sub(self.per_chunk),
            _ => None,
        }
    }
}

/// A part of one loop of a ring collective, over all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Of an AllReduce `ReduceScatter` or `AllGather`; of others the collective's own kind.
    pub kind: CollectiveKind,
    /// Number of the loop, from 0.
    pub ring_loop: u32,
    /// From its first data packet to its last.
    pub span: Span,
}

/// When a rank took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankTimes {
    /// The rank.
    pub rank: u32,
    /// First CTS that it sent for this collective.
    pub first_cts: Option<Timestamp>,
    /// First data packet that it sent.
    pub first_send: Option<Timestamp>,
    /// Last data packet that it received.
    pub last_receive: Option<Timestamp>,
}

/// A collective's messages on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTransfers {
    /// The connection.
    pub connection: NetConnectionId,
    /// Their places in its `transfers`.
    pub places: Range<usize>,
    /// Places in `transfers` at which the second part of each loop begins (AllReduce over a ring).
    pub boundaries: Vec<usize>,
}
