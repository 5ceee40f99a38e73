//! The rank that others waited for longest within a training step.

use std::cmp::Reverse;

use super::Straggler;
use super::search::Delays;
use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;

/// The straggler of `iteration`, with the part of its lag inside the step, and the index of its
/// collective. `delays` has one entry per collective.
#[must_use]
pub fn longest_lag(
    iteration: &Iteration,
    collectives: &[Collective],
    delays: &[Delays],
) -> Option<(Straggler, usize)> {
    let within = |at: &usize| {
        let (span, straggler) = (collectives.get(*at)?.span, delays.get(*at)?.straggler.clone()?);
        let first = span.first.max(iteration.span.first);
        let most_ns = span.last.min(iteration.span.last).nanos_since(first);
        Some((Straggler { lag_ns: straggler.lag_ns.min(most_ns), ..straggler }, *at))
    };
    let all = iteration.collectives.iter().filter_map(within);
    all.max_by_key(|(straggler, at)| (straggler.lag_ns, Reverse(*at)))
}
