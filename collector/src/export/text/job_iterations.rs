//! The training steps of a report, grouped by job.

use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::training_jobs::TrainingJobReport;

/// The training steps of one job.
pub(in crate::export) struct JobIterations<'a> {
    /// What they amount to together.
    pub(in crate::export) job: &'a TrainingJobReport,
    /// In order of time.
    pub(in crate::export) all: Vec<&'a IterationReport>,
}

impl<'a> JobIterations<'a> {
    /// One per job, in order of time.
    pub(in crate::export) fn of_jobs(report: &'a Report) -> Vec<Self> {
        let of_job = |job: &'a TrainingJobReport| {
            let is_its =
                |one: &&IterationReport| one.communicator.as_deref() == Some(&job.communicator);
            Self { job, all: report.iterations.iter().filter(is_its).collect() }
        };
        report.training_jobs.iter().map(of_job).collect()
    }

    /// Those that stand out, the worst first.
    pub(in crate::export) fn worst(&self) -> Vec<&'a IterationReport> {
        let find = |number: &u32| {
            let at = self.all.binary_search_by_key(number, |one| one.iteration).ok()?;
            self.all.get(at).copied()
        };
        self.job.standing_out.iter().filter_map(find).collect()
    }
}

/// `12`, with the training's own number: `12 (label 4812)`.
pub(in crate::export) fn name(one: &IterationReport) -> String {
    match &one.label {
        Some(label) => format!("{} (label {label})", one.iteration),
        None => one.iteration.to_string(),
    }
}
