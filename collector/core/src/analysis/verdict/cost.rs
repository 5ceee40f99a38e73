//! What causes cost: seconds that collectives took longer, by cause.

use std::collections::BTreeMap;

use crate::analysis::finding::facts::Facts;
use crate::analysis::straggler::Cause;
use crate::link::job::CommunicatorId;
use crate::model::time::Span;

/// Sums over all collectives.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    by_rank: BTreeMap<(CommunicatorId, u32, Cause), u64>,
    /// What waiting for room at a rank cost.
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
            for (rank, ns) in &judged.room {
                let key = (judged.collective.communicator, *rank);
                *costs.room.entry(key).or_default() += ns;
            }
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

    /// What waiting for room at the ranks that `is_of` accepts cost: in each communicator, at the one that
    /// cost most, as data waits for several at the same time.
    #[must_use]
    pub fn of_room(&self, is_of: impl Fn(CommunicatorId, u32) -> bool) -> u64 {
        let mut most: BTreeMap<CommunicatorId, u64> = BTreeMap::new();
        for ((communicator, rank), ns) in &self.room {
            if is_of(*communicator, *rank) {
                let most = most.entry(*communicator).or_default();
                *most = (*ns).max(*most);
            }
        }
        most.into_values().sum()
    }
}
