//! The straggler of each collective, the candidate that cost most, and every rank's own times.

use std::collections::BTreeMap;

use super::network::{self, Baseline};
use super::own_time::{self, OwnTime};
use super::receiver::{self, Refill};
use super::threshold::Thresholds;
use super::{Candidate, Case, Straggler, hidden, late, persistent, socket};
use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::feed::Feeds;
use crate::link::job::{CommunicatorId, Job};
use crate::model::time::Timestamp;

/// Who held up a collective.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The rank that the others waited for.
    pub straggler: Option<Straggler>,
    /// What each rank used by itself.
    pub own_times: Vec<OwnTime>,
}

/// Who held up each of `collectives`, by its place. `waits` are theirs.
#[must_use]
pub fn delays(
    (job, feeds): (&Job, &Feeds),
    collectives: &[Collective],
    waits: &[CollectiveWaits],
    iterations: &[Iteration],
) -> Vec<Delays> {
    let cases = || {
        let pairs = collectives.iter().zip(waits);
        pairs.map(|(collective, waits)| Case { job, collective, waits })
    };
    let thresholds = Thresholds::new(collectives, waits, iterations);
    let baseline = Baseline::new(job, waits);
    let refills: Vec<BTreeMap<u32, Refill>> =
        cases().map(|case| receiver::refills(&case, feeds)).collect();
    let slow_receivers = receiver::slow_receivers(collectives, waits, &refills);
    let slow_sockets = socket::slow_sockets(cases());
    let slow = slow_receivers.into_iter().zip(slow_sockets);
    let mut candidates = Vec::with_capacity(collectives.len());
    let mut all_own_times = Vec::with_capacity(collectives.len());
    let mut ends: BTreeMap<CommunicatorId, (Timestamp, Case<'_>)> = BTreeMap::new();
    for ((case, refills), (slow_receiver, slow_socket)) in cases().zip(&refills).zip(slow) {
        let least_ns = thresholds.least_ns(case.collective.communicator);
        let hidden = hidden::hidden_rank(&case);
        // Connections always stop somewhere; only long stops name a rank.
        let stopping = hidden.as_ref().filter(|one| least_ns.is_some_and(|ns| one.lag_ns > ns));
        let before = ends.get(&case.collective.communicator);
        let times = (before.map(|(end, _)| *end), before.map(|(_, before)| before));
        all_own_times.push(own_time::own_times(&case, times, &baseline, refills, stopping));
        let end = before
            .map_or(case.collective.span.last, |(end, _)| case.collective.span.last.max(*end));
        ends.insert(case.collective.communicator, (end, case));
        let all = [
            late::late_rank(&case),
            hidden,
            network::loss(&case, &baseline),
            network::congestion(&case, &baseline),
            network::pause(&case),
            slow_receiver,
            slow_socket,
        ];
        // At equal cost, the first: the rank's own delay comes before a delay by the network.
        let worst = all
            .into_iter()
            .flatten()
            .reduce(|worst, one| if one.lag_ns > worst.lag_ns { one } else { worst });
        candidates.push(
            worst.zip(least_ns).map(|(straggler, least_ns)| Candidate { straggler, least_ns }),
        );
    }
    let stragglers = persistent::name(candidates, collectives, iterations);
    let pairs = stragglers.into_iter().zip(all_own_times);
    pairs.map(|(straggler, own_times)| Delays { straggler, own_times }).collect()
}
