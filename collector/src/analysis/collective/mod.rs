//! Collectives: which messages belong to one call, what was called, and where its parts lie.

use std::ops::Range;

use crate::link::evidence::Evidence;
use crate::link::job::{CommunicatorId, NetConnectionId};
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

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
    /// Channels that carry it.
    pub channels: u32,
    /// Its messages on all connections that were seen.
    pub messages: u64,
    /// From the first data packet to the last.
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
