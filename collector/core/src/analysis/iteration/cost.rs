//! What each cause cost a training step, whether or not most other steps pay as much.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::analysis::judged::{JudgedCollective, JudgedIteration};
use crate::analysis::straggler::Cause;
use crate::link::job::CommunicatorId;

/// Less than 1/`PARTS` of the training step is no cost: ranks always differ a little.
const PARTS: u64 = 100;

/// A rank of a communicator, and a cause.
pub type Key = (CommunicatorId, u32, Cause);

/// What one cause at one rank cost a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The communicator of the collectives that took longer.
    pub communicator: CommunicatorId,
    /// Its rank.
    pub rank: u32,
    /// Why.
    pub cause: Cause,
    /// By how much.
    pub ns: u64,
}

/// What each cause added to the collectives of a training step.
#[must_use]
pub fn sums(one: &JudgedIteration, collectives: &[JudgedCollective]) -> BTreeMap<Key, u64> {
    let mut sums = BTreeMap::new();
    for at in &one.iteration.collectives {
        let Some(judged) = collectives.get(*at) else { continue };
        for one in &judged.contributions {
            let key = (judged.collective.communicator, one.rank, one.cause);
            *sums.entry(key).or_default() += one.ns;
        }
    }
    sums
}

/// The costs worth mentioning, the greatest first; none is more than the training step.
#[must_use]
pub fn of(one: &JudgedIteration, sums: &BTreeMap<Key, u64>) -> Vec<Cost> {
    let length_ns = one.iteration.length_ns();
    let cost = |((communicator, rank, cause), ns): (&Key, &u64)| Cost {
        communicator: *communicator,
        rank: *rank,
        cause: *cause,
        ns: length_ns.min(*ns),
    };
    let mut costs: Vec<Cost> = sums.iter().map(cost).collect();
    costs.retain(|one| one.ns > 0 && one.ns >= length_ns / PARTS);
    costs.sort_by_key(|one| (Reverse(one.ns), one.communicator, one.rank, one.cause));
    costs
}
