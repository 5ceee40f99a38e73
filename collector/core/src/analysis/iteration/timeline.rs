//! The collectives of a job in order of time, and the silence before each.

use crate::analysis::collective::Collective;
use crate::link::job::CommunicatorId;
use crate::model::nccl::{Algorithm, CollectiveKind};
use crate::model::time::{Span, Timestamp};

/// A job's collectives.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    /// In order of their first packets.
    pub(super) slots: Vec<Slot>,
    /// Periods with a collective in flight, in order and disjoint.
    busy: Vec<Span>,
}

/// A collective.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Its index in the list of all.
    pub(super) at: usize,
    pub(super) communicator: CommunicatorId,
    pub(super) span: Span,
    /// Nanoseconds before it with no collective of the job in flight.
    pub(super) silence_ns: u64,
    /// What was called; `None` if unknown.
    pub(super) call: Option<Call>,
    /// Its messages, of known size or not.
    pub(super) messages: u64,
    /// The communicator's first collective was seen.
    pub(super) is_counted_from_init: bool,
}

/// What distinguishes one call from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) kind: CollectiveKind,
    pub(super) algorithm: Algorithm,
    pub(super) bytes: u64,
}

impl Timeline {
    pub(super) fn new(collectives: &[Collective], group: &[CommunicatorId]) -> Self {
        let mut slots: Vec<Slot> = Vec::new();
        let mut busy: Vec<Span> = Vec::new();
        let of_job = collectives
            .iter()
            .enumerate()
            .filter(|(_, one)| group.binary_search(&one.communicator).is_ok());
        for (at, one) in of_job {
            let quiet_since = busy.last().map_or(one.span.first, |span| span.last);
            let is_known = one.kind != CollectiveKind::Unknown;
            let call = one.bytes.filter(|_| is_known).map(|bytes| Call {
                kind: one.kind,
                algorithm: one.algorithm,
                bytes,
            });
            slots.push(Slot {
                at,
                communicator: one.communicator,
                span: one.span,
                silence_ns: one.span.first.nanos_since(quiet_since),
                call,
                messages: one.messages,
                is_counted_from_init: one.is_counted_from_init,
            });
            match busy.last_mut().filter(|span| one.span.first <= span.last) {
                Some(span) => span.last = span.last.max(one.span.last),
                None => busy.push(one.span),
            }
        }
        Self { slots, busy }
    }

    /// Nanoseconds of `span` with a collective in flight.
    pub(super) fn busy_ns(&self, span: Span) -> u64 {
        let from = self.busy.partition_point(|busy| busy.last < span.first);
        let overlapping = self.busy.iter().skip(from).take_while(|busy| busy.first < span.last);
        let overlap = |busy: &Span| -> u64 {
            let last: Timestamp = busy.last.min(span.last);
            last.nanos_since(busy.first.max(span.first))
        };
        overlapping.map(overlap).sum()
    }
}
