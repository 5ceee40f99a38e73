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
}
