//! The training steps of each job together.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::iteration::job::TrainingJob;

/// The training steps of one job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrainingJobReport {
    /// `id` of the communicator whose collectives repeat with them, as in `iterations`.
    pub communicator: String,
    /// Number of training steps.
    pub iterations: u64,
    /// Start of the first one.
    pub start_ns: i64,
    /// End of the last one.
    pub end_ns: i64,
    /// Median duration of the complete ones, without the one in which NCCL connects its channels;
    /// `null` if there are fewer than three.
    pub median_ns: Option<u64>,
    /// By how much the last rank of a training step is later than the middle one, whichever rank is
    /// last: the mean without the longest tenth; `null` with fewer than five training steps after the
    /// first, or where no two ranks can be compared.
    pub jitter_ns: Option<u64>,
    /// The same as a share of a training step, 0 to 1.
    pub jitter_share: Option<f64>,
    /// Numbers of those that stand out, the costliest first: by excess or lag of the straggler,
    /// whichever is longer.
    pub standing_out: Vec<u32>,
    /// Gaps between them: evaluation, checkpoint, pauses.
    pub gaps: u64,
    /// The longest gap; `null` without gaps.
    pub longest_gap_ns: Option<u64>,
    /// Number of the training step before the longest gap.
    pub longest_gap_after: Option<u32>,
}

/// The jobs, that with the earliest training step first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<TrainingJobReport> {
    let jobs = sources.understanding.training_jobs.iter();
    jobs.filter_map(|job| report(sources, job)).collect()
}

fn report(sources: &Sources<'_>, job: &TrainingJob) -> Option<TrainingJobReport> {
    let all = &sources.understanding.iterations;
    let numbers = job.standing_out.iter().filter_map(|at| Some(all.get(*at)?.iteration.number));
    let mut jitters = sources.understanding.jitters.iter();
    let jitter = jitters.find(|jitter| jitter.communicator == job.communicator);
    Some(TrainingJobReport {
        communicator: sources.state.job.as_ref()?.name_of(job.communicator)?,
        iterations: job.iterations.len() as u64,
        start_ns: sources.relative_ns(job.span.first),
        end_ns: sources.relative_ns(job.span.last),
        median_ns: job.median_ns,
        jitter_ns: jitter.map(|jitter| jitter.usual_ns),
        jitter_share: jitter.map(|jitter| jitter.share),
        standing_out: numbers.collect(),
        gaps: job.gaps,
        longest_gap_ns: job.longest_gap.map(|gap| gap.ns),
        longest_gap_after: job.longest_gap.map(|gap| gap.after),
    })
}
