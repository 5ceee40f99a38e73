//! Training steps: what each took, moved and suffered.

use schemars::JsonSchema;
use serde::Serialize;

use super::stragglers::StragglerReport;
use super::{Sources, communicators};
use crate::analysis::iteration::Iteration;

/// A training step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IterationReport {
    /// Number from 0, in order of time.
    pub iteration: u32,
    /// What the training calls it, where an anchor or a log tells: `4812`.
    pub label: Option<String>,
    /// `id` of the communicator whose collectives repeat with it.
    pub communicator: Option<String>,
    /// First data packet.
    pub start_ns: i64,
    /// First data packet of the next one; of the last, its last packet.
    pub end_ns: i64,
    /// Time with a collective in flight.
    pub communication_ns: u64,
    /// Time without.
    pub idle_ns: u64,
    /// Collectives.
    pub collectives: u64,
    /// Bytes of its messages on the wire; `null` where messages are missing.
    pub bytes: Option<u64>,
    /// The highest rate of a port in any 100 us.
    pub peak_bps: Option<u64>,
    /// Data packets with a CE mark; `null` where no tap could see any.
    pub ce_packets: Option<u64>,
    /// Their share of its data packets, 0 to 1.
    pub ce_share: Option<f64>,
    /// CNPs.
    pub cnps: Option<u64>,
    /// Time that ports were told to pause; `null` where neither frames nor counters tell.
    pub paused_ns: Option<u64>,
    /// Data packets sent again.
    pub retransmitted_packets: Option<u64>,
    /// The rank that the others waited for longest; `null` where nobody stands out.
    pub straggler: Option<StragglerReport>,
    /// The collective of the straggler, by `id`.
    pub straggler_collective: Option<u32>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
}

/// The training steps in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<IterationReport> {
    let Some(linked) = sources.linked else { return Vec::new() };
    linked.iterations.iter().map(|iteration| report(sources, iteration)).collect()
}

fn report(sources: &Sources<'_>, iteration: &Iteration) -> IterationReport {
    let linked = sources.linked;
    let worst = iteration.collectives.iter().filter_map(|at| {
        let straggler = linked?.stragglers.get(*at)?.as_ref()?;
        Some((straggler, *at as u32))
    });
    let worst = worst.max_by_key(|(straggler, at)| (straggler.lag_ns, std::cmp::Reverse(*at)));
    IterationReport {
        iteration: iteration.number,
        label: iteration.label.clone(),
        communicator: linked
            .and_then(|linked| communicators::name_of(&linked.job, iteration.communicator)),
        start_ns: sources.relative_ns(iteration.span.first),
        end_ns: sources.relative_ns(iteration.span.last),
        communication_ns: iteration.communication_ns,
        idle_ns: iteration.idle_ns(),
        collectives: iteration.collectives.len() as u64,
        bytes: None,
        peak_bps: None,
        ce_packets: None,
        ce_share: None,
        cnps: None,
        paused_ns: None,
        retransmitted_packets: None,
        straggler: worst.map(|(straggler, _)| StragglerReport::new(sources, straggler)),
        straggler_collective: worst.map(|(_, at)| at),
        grade: iteration.grade.name(),
    }
}
