//! Everything that the report has about a training step.

use serde::Serialize;

use super::missing::Missing;
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::job_iterations::JobIterations;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::iterations::IterationReport;

/// A training step with its collectives.
#[derive(Clone, Debug, Serialize)]
pub struct IterationFacts<'a> {
    /// The training step itself.
    pub(super) iteration: &'a IterationReport,
    /// Median duration of the training steps of its job; `null` if there are too few.
    pub(super) median_ns: Option<u64>,
    /// Training steps of its job.
    pub(super) iterations: usize,
    /// Its collectives in order of time.
    pub(super) collectives: Vec<&'a CollectiveReport>,
}

impl<'a> IterationFacts<'a> {
    /// Finds the training step with this label or number, in the job of the communicator whose id
    /// begins with `communicator`.
    pub(super) fn find(
        report: &'a Report,
        name: &str,
        communicator: Option<&str>,
    ) -> Result<Self, Missing> {
        let jobs = JobIterations::of_jobs(report);
        if jobs.is_empty() {
            let reason = "no training steps in this input: no pattern of collectives repeats";
            return Err(Missing(reason.to_owned()));
        }
        let is_meant = |job: &&JobIterations<'a>| {
            communicator.is_none_or(|start| job.job.communicator.starts_with(start))
        };
        let number = name.parse::<u32>().ok();
        let candidates: Vec<&JobIterations<'a>> = jobs.iter().filter(is_meant).collect();
        let of_job = |job: &&JobIterations<'a>| {
            let by_label = job.all.iter().find(|one| one.label.as_deref() == Some(name));
            by_label.or_else(|| job.all.iter().find(|one| Some(one.iteration) == number)).copied()
        };
        let found: Vec<(&JobIterations<'a>, &'a IterationReport)> =
            candidates.iter().filter_map(|job| Some((*job, of_job(job)?))).collect();
        match found.as_slice() {
            [(job, iteration)] => Ok(Self::new(report, job, iteration)),
            [] => Err(Missing(missing(name, &candidates))),
            _ => {
                let names = CommunicatorNames::new(&report.communicators);
                let ids: Vec<String> =
                    found.iter().map(|(job, _)| names.short(&job.job.communicator)).collect();
                Err(Missing(format!(
                    "several jobs have a training step {name}: add --communicator with one of {}",
                    ids.join(", ")
                )))
            }
        }
    }

    fn new(report: &'a Report, job: &JobIterations<'a>, iteration: &'a IterationReport) -> Self {
        let is_its = |one: &&CollectiveReport| iteration.collective_ids.contains(&one.id);
        Self {
            iteration,
            median_ns: job.job.median_ns,
            iterations: job.all.len(),
            collectives: report.collectives.iter().filter(is_its).collect(),
        }
    }
}

/// The error for a training step that does not exist.
fn missing(name: &str, jobs: &[&JobIterations<'_>]) -> String {
    let Some((first, last)) = jobs.first().and_then(|job| job.all.first().zip(job.all.last()))
    else {
        return "no job with training steps has this communicator".to_owned();
    };
    let labels = first.label.as_ref().zip(last.label.as_ref());
    let labels = labels.map(|(first, last)| format!(", labelled {first} to {last}"));
    format!(
        "no training step {name}; this input has {} to {}{}",
        first.iteration,
        last.iteration,
        labels.unwrap_or_default()
    )
}
