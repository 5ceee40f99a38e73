//! The training steps of one job together: how long they take, which stand out, and the gaps
//! between them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::analysis::judged::JudgedIteration;
use crate::link::job::CommunicatorId;
use crate::model::time::Span;

/// The training steps of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingJob {
    /// The communicator whose collectives repeat with them.
    pub communicator: CommunicatorId,
    /// Their places in the list of all, in order of time.
    pub iterations: Vec<usize>,
    /// From the first to the end of the last.
    pub span: Span,
    /// Median duration of the whole ones; `None` if there are too few.
    pub median_ns: Option<u64>,
    /// Places of those that stand out, the costliest first.
    pub standing_out: Vec<usize>,
    /// Gaps between them: evaluation, checkpoint, pauses.
    pub gaps: u64,
    /// The longest gap.
    pub longest_gap: Option<Pause>,
}

/// Time between two training steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its length.
    pub ns: u64,
    /// Number of the training step before it.
    pub after: u32,
}

/// The jobs, that with the earliest training step first. `all` is in order of time.
#[must_use]
pub fn jobs(all: &[JudgedIteration]) -> Vec<TrainingJob> {
    let mut places: BTreeMap<CommunicatorId, Vec<usize>> = BTreeMap::new();
    for (at, one) in all.iter().enumerate() {
        places.entry(one.iteration.communicator).or_default().push(at);
    }
    let jobs = places.into_iter().filter_map(|(id, places)| TrainingJob::new(id, places, all));
    let mut jobs: Vec<TrainingJob> = jobs.collect();
    jobs.sort_by_key(|job| job.span.first);
    jobs
}

impl TrainingJob {
    fn new(
        communicator: CommunicatorId,
        iterations: Vec<usize>,
        all: &[JudgedIteration],
    ) -> Option<Self> {
        let own: Vec<(usize, &JudgedIteration)> =
            iterations.iter().filter_map(|at| Some((*at, all.get(*at)?))).collect();
        let ((_, first), (_, last)) = own.first().zip(own.last())?;
        let pairs = own.iter().zip(own.iter().skip(1));
        let gaps = pairs.filter_map(|((_, before), (_, next))| Pause::between(before, next));
        let gaps: Vec<Pause> = gaps.collect();
        let mut standing_out: Vec<&(usize, &JudgedIteration)> =
            own.iter().filter(|(_, one)| one.pace.stands_out).collect();
        standing_out.sort_by_key(|(_, one)| (Reverse(one.cost_ns()), one.iteration.number));
        Some(Self {
            communicator,
            span: Span { first: first.iteration.span.first, last: last.iteration.span.last },
            median_ns: first.pace.median_ns,
            standing_out: standing_out.into_iter().map(|(at, _)| *at).collect(),
            gaps: gaps.len() as u64,
            longest_gap: gaps.into_iter().max_by_key(|gap| gap.ns),
            iterations,
        })
    }
}

impl Pause {
    fn between(before: &JudgedIteration, next: &JudgedIteration) -> Option<Self> {
        let ns = next.iteration.span.first.nanos_since(before.iteration.span.last);
        (ns > 0).then_some(Self { ns, after: before.iteration.number })
    }
}
