//! What made a training step longer than usual: one share for each rank and cause, and a remainder.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::cost::{self, Key};
use crate::analysis::judged::{JudgedCollective, JudgedIteration};
use crate::analysis::straggler::contribution::Contribution;
use crate::model::spread::lower_median;

/// Shares below 1/`PARTS` of the excess stay in the remainder: ranks always differ a little.
const PARTS: u64 = 20;

/// Sets the costs of every training step, and the contributions of those with an excess. What a
/// cause adds to most steps is usual and part of no excess. Causes that act at the same time overlap,
/// so the greatest one counts first, and together they are never more than the excess.
pub fn split(iterations: &mut [JudgedIteration], collectives: &[JudgedCollective]) {
    let sums: Vec<BTreeMap<Key, u64>> =
        iterations.iter().map(|one| cost::sums(one, collectives)).collect();
    let whole: Vec<&BTreeMap<Key, u64>> = iterations
        .iter()
        .zip(&sums)
        .filter(|(one, _)| one.iteration.is_whole && !one.pace.sets_up)
        .map(|(_, sums)| sums)
        .collect();
    let mut usual: BTreeMap<Key, u64> = BTreeMap::new();
    let mut usual_ns = |key: Key| {
        *usual.entry(key).or_insert_with(|| {
            let job = whole.iter().map(|sums| sums.get(&key).copied().unwrap_or(0));
            lower_median(job).unwrap_or(0)
        })
    };
    for (one, sums) in iterations.iter_mut().zip(&sums) {
        one.costs = cost::of(one, sums);
        let Some(excess_ns) = one.pace.excess_ns else { continue };
        let beyond = |(key, ns): (&Key, &u64)| (*key, ns.saturating_sub(usual_ns(*key)));
        let mut shares: Vec<(Key, u64)> = sums.iter().map(beyond).collect();
        shares.sort_by_key(|(key, ns)| (Reverse(*ns), *key));
        let mut left_ns = excess_ns;
        for ((_, rank, cause), ns) in shares {
            let ns = ns.min(left_ns);
            if ns == 0 || ns < excess_ns / PARTS {
                break;
            }
            left_ns -= ns;
            one.contributions.push(Contribution { rank, cause, ns });
        }
    }
}
