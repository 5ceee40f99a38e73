//! The training steps of a report, grouped by job.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;

/// The training steps of one job.
pub(in crate::export) struct JobIterations<'a> {
    /// In order of time.
    pub(in crate::export) all: Vec<&'a IterationReport>,
}

impl<'a> JobIterations<'a> {
    /// One per job, in order of time.
    pub(in crate::export) fn of_jobs(report: &'a Report) -> Vec<Self> {
        let mut jobs: BTreeMap<&str, Vec<&IterationReport>> = BTreeMap::new();
        for one in &report.iterations {
            jobs.entry(one.communicator.as_deref().unwrap_or_default()).or_default().push(one);
        }
        let mut jobs: Vec<Self> = jobs.into_values().map(|all| Self { all }).collect();
        jobs.sort_by_key(|job| job.all.first().map(|one| one.start_ns));
        jobs
    }

    /// Median duration of the complete ones; `None` if there are too few to compare.
    pub(in crate::export) fn median_ns(&self) -> Option<u64> {
        self.all.first()?.median_ns
    }

    /// Those that stand out, the worst first.
    pub(in crate::export) fn worst(&self) -> Vec<&'a IterationReport> {
        let mut worst: Vec<&IterationReport> =
            self.all.iter().copied().filter(|one| one.stands_out).collect();
        worst.sort_by_key(|one| (Reverse(one.cost_ns()), one.iteration));
        worst
    }

    /// Nanoseconds from the end of the previous one to its start.
    pub(in crate::export) fn pause_before_ns(&self, at: usize) -> Option<u64> {
        let (before, one) = (self.all.get(at.checked_sub(1)?)?, self.all.get(at)?);
        let pause = one.start_ns.saturating_sub(before.end_ns);
        u64::try_from(pause).ok().filter(|pause| *pause > 0)
    }
}

/// `12`, with the training's own number: `12 (label 4812)`.
pub(in crate::export) fn name(one: &IterationReport) -> String {
    match &one.label {
        Some(label) => format!("{} (label {label})", one.iteration),
        None => one.iteration.to_string(),
    }
}
