//! The straggler of each collective: the candidate that cost most.

use super::network::{self, Baseline};
use super::threshold::Thresholds;
use super::{Candidate, Case, Straggler, hidden, late, persistent, receiver};
use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;
use crate::analysis::wait::CollectiveWaits;
use crate::link::job::Job;

/// The straggler of each of `collectives`, by its place. `waits` are theirs.
#[must_use]
pub fn stragglers(
    job: &Job,
    collectives: &[Collective],
    waits: &[CollectiveWaits],
    iterations: &[Iteration],
) -> Vec<Option<Straggler>> {
    let thresholds = Thresholds::new(collectives, waits, iterations);
    let baseline = Baseline::new(waits);
    let slow_receivers = receiver::slow_receivers(job, collectives, waits);
    let worst = |((collective, waits), slow_receiver): ((&Collective, &CollectiveWaits), _)| {
        let case = Case { job, collective, waits };
        let candidates = [
            late::late_rank(&case),
            hidden::hidden_rank(&case),
            network::loss(&case),
            network::congestion(&case, &baseline),
            slow_receiver,
        ];
        // At equal cost, the first: the rank's own delay comes before a delay by the network.
        candidates.into_iter().flatten().reduce(
            |worst, one| {
                if one.lag_ns > worst.lag_ns { one } else { worst }
            },
        )
    };
    let worst = collectives.iter().zip(waits).zip(slow_receivers).map(worst);
    let costs = |(collective, straggler): (&Collective, Option<Straggler>)| {
        let least_ns = thresholds.least_ns(collective.communicator)?;
        Some(Candidate { straggler: straggler?, least_ns })
    };
    let candidates = collectives.iter().zip(worst).map(costs).collect();
    persistent::name(candidates, collectives, iterations)
}
