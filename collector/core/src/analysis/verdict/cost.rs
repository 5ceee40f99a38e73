//! What causes cost: seconds that collectives took longer, by cause.

use std::collections::BTreeMap;

use crate::analysis::finding::facts::Facts;
use crate::analysis::judged::JudgedCollective;
use crate::analysis::straggler::Cause;
use crate::link::job::CommunicatorId;
use crate::model::time::Span;

/// Sums over all collectives.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    by_rank: BTreeMap<(CommunicatorId, u32, Cause), u64>,
    /// How long ranks waited for room at a rank, without the time in which that rank waited for room itself.
    room: BTreeMap<(CommunicatorId, u32), u64>,
    /// Time of training that was seen.
    pub seen_ns: u64,
}

impl Costs {
    /// From the waits of all collectives.
    #[must_use]
    pub fn new(facts: &Facts<'_>) -> Self {
        let mut costs = Self::default();
        for judged in facts.collectives {
            for one in &judged.contributions {
                let key = (judged.collective.communicator, one.rank, one.cause);
                *costs.by_rank.entry(key).or_default() += one.ns;
            }
            costs.add_room(facts, judged);
        }
        let spans = || facts.collectives.iter().map(|judged| judged.collective.span);
        let first = spans().map(|span| span.first).min();
        let last = spans().map(|span| span.last).max();
        if let (Some(first), Some(last)) = (first, last) {
            costs.seen_ns = Span { first, last }.last.nanos_since(first);
        }
        costs
    }

    /// What `causes` cost, of all ranks that `is_of` accepts.
    #[must_use]
    pub fn of(&self, causes: &[Cause], is_of: impl Fn(CommunicatorId, u32) -> bool) -> u64 {
        let wanted = self.by_rank.iter().filter(|((communicator, rank, cause), _)| {
            causes.contains(cause) && is_of(*communicator, *rank)
        });
        wanted.map(|(_, ns)| ns).sum()
    }

    /// How long others waited for room at the ranks that `is_of` accepts.
    #[must_use]
    pub fn of_room(&self, is_of: impl Fn(CommunicatorId, u32) -> bool) -> u64 {
        let wanted =
            self.room.iter().filter(|((communicator, rank), _)| is_of(*communicator, *rank));
        wanted.map(|(_, ns)| ns).sum()
    }

    fn add_room(&mut self, facts: &Facts<'_>, judged: &JudgedCollective) {
        let Some(job) = &facts.state.job else { return };
        // Connections wait at the same time: of each rank, the longest wait to it and by it.
        let mut waits: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        for edge in &judged.waits.edges {
            let Some(connection) = job.connection(edge.connection) else { continue };
            for (side, rank) in [connection.receiver, connection.sender].into_iter().enumerate() {
                let Some(rank) = rank else { continue };
                let longest = &mut waits.entry(rank).or_default()[side];
                *longest = edge.receiver_wait_ns.max(*longest);
            }
        }
        for (rank, [to_it, by_it]) in waits {
            let key = (judged.collective.communicator, rank);
            *self.room.entry(key).or_default() += to_it.saturating_sub(by_it);
        }
    }
}
