//! Collectives: which messages belong to one call, its kind, and the times of its parts.

pub mod assemble;
pub mod bandwidth;
pub mod beginning;
pub mod calls;
pub mod cut;
pub mod extract;
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
pub mod unnamed;

use std::ops::Range;

use crate::link::evidence::Evidence;
use crate::link::job::{CommunicatorId, Job, NetConnectionId};
use crate::model::grade::Grade;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

/// Counts messages that no collective explains or contains, and collectives captured in part.
pub fn add_health(job: &Job, collectives: &[Collective], health: &mut Health) {
    let rings = job.connections.iter().filter(|one| !one.carries_data());
    let of_bootstraps: usize = rings.map(|ring| ring.transfers.len()).sum();
    health.add(HealthEvent::CollectivesBootstrapMessages, of_bootstraps as u64);
    let unknown = || collectives.iter().filter(|one| one.kind == CollectiveKind::Unknown);
    health.add(HealthEvent::CollectivesUnknown, unknown().count() as u64);
    health
        .add(HealthEvent::CollectivesUnexplainedMessages, unknown().map(|one| one.messages).sum());
    let without_bytes = collectives.iter().filter(|one| one.bytes.is_none());
    health.add(HealthEvent::CollectivesIncomplete, without_bytes.count() as u64);
}

/// A collective that was read from messages.
#[derive(Clone, Debug)]
pub struct Collective {
    /// The communicator that it ran on.
    pub communicator: CommunicatorId,
    /// Number on the communicator, from 0.
    pub sequence: u64,
    /// The communicator's first collective was seen, so `number` is NCCL's; otherwise it counts from
    /// the first that was seen.
    pub is_counted_from_init: bool,
    /// AllReduce, AllGather, ...
    pub kind: CollectiveKind,
    /// Other kinds that explain its messages equally well.
    pub alternatives: Vec<CollectiveKind>,
    /// How it is carried out.
    pub algorithm: Algorithm,
    /// The protocol of its messages.
    pub protocol: Protocol,
    /// Bytes as nccl-tests counts them (of AllGather and ReduceScatter the total over ranks, of
    /// AlltoAll what a rank sends to all); `None` if messages are missing.
    pub bytes: Option<u64>,
    /// The bytes are rounded by the protocol, or partly unseen.
    pub is_estimated: bool,
    /// How messages are forwarded; `None` unless each rank sends chunks of its own around a ring, or if
    /// messages are missing.
    pub ring_order: Option<RingOrder>,
    /// Channels that carry it.
    pub channels: u32,
    /// Its messages on all connections that were seen.
    pub messages: u64,
    /// From the first data packet to the last, or to the end of the recovery that brought its data.
    pub span: Span,
    /// Its parts, loop by loop, in order of time; empty for a tree and for point-to-point.
    pub parts: Vec<Part>,
    /// Its ranks' times, ascending.
    pub ranks: Vec<RankTimes>,
    /// Its messages by connection, ascending.
    pub transfers: Vec<ConnectionTransfers>,
    /// Confidence in all of this.
    pub grade: Grade,
    /// Evidence for all of this.
    pub evidence: Vec<Evidence>,
}

/// Which messages of a ring collective forward which: in each loop, a rank sends its own
/// chunk first, then what it received (NCCL `all_reduce.h`, `all_gather.h`, `reduce_scatter.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingOrder {
    /// Messages of a chunk.
    pub per_chunk: u64,
    /// Messages of a loop.
    pub per_loop: u64,
}

impl RingOrder {
    /// Index of the received message that message `at` forwards; `None` if `at` carries the sender's
    /// own chunk. Both count from 0 in the collective.
    #[must_use]
    pub const fn passes_on(self, at: u64) -> Option<u64> {
        match at.checked_rem(self.per_loop) {
            Some(in_loop) if in_loop >= self.per_chunk => at.checked_sub(self.per_chunk),
            _ => None,
        }
    }

    /// Of the messages that its receiver sends in the collective, the one that passes message `at`
    /// on; `None` if nobody passes it on. Both count from 0.
    #[must_use]
    pub fn passed_on_by(self, at: u64) -> Option<u64> {
        let next = at.checked_add(self.per_chunk)?;
        (self.passes_on(next) == Some(at)).then_some(next)
    }
}

/// A part of one loop of a ring collective, over all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// `ReduceScatter` or `AllGather` for an AllReduce; otherwise the collective's own kind.
    pub kind: CollectiveKind,
    /// Number of the loop, from 0.
    pub ring_loop: u32,
    /// From its first data packet to its last.
    pub span: Span,
}

/// When a rank took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankTimes {
    /// Rank in the collective's communicator.
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
    /// The connection that carried them.
    pub connection: NetConnectionId,
    /// Their places in its `transfers`.
    pub places: Range<usize>,
    /// Places in `transfers` at which the second part of each loop begins (AllReduce over a ring).
    pub boundaries: Vec<usize>,
}
