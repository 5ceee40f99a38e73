//! How long the training steps of a job usually take, and which of them stand out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;

/// A training step stands out when it is longer than the median by more than this part of it ...
const SHARE: f64 = 0.05;
/// ... and by more than this many times the median absolute deviation.
const DEVIATIONS: u64 = 5;

/// The training steps of one job.
pub(in crate::export) struct Pace<'a> {
    /// In order of time.
    pub(in crate::export) all: Vec<&'a IterationReport>,
    /// The usual length, of whole ones; `None` where there are none to compare.
    pub(in crate::export) median_ns: Option<u64>,
    limit_ns: u64,
    /// Connections are set up in the first one.
    is_from_init: bool,
}

impl<'a> Pace<'a> {
    /// One for each job of a report, in order of time.
    pub(in crate::export) fn of_jobs(report: &'a Report) -> Vec<Self> {
        let mut jobs: BTreeMap<&str, Vec<&IterationReport>> = BTreeMap::new();
        for one in &report.iterations {
            jobs.entry(one.communicator.as_deref().unwrap_or_default()).or_default().push(one);
        }
        let mut jobs: Vec<Self> = jobs.into_values().map(|all| Self::new(report, all)).collect();
        jobs.sort_by_key(|job| job.all.first().map(|one| one.start_ns));
        jobs
    }

    fn new(report: &Report, all: Vec<&'a IterationReport>) -> Self {
        let is_from_init = all.first().is_some_and(|first| {
            let mut collectives = report.collectives.iter();
            let begins =
                collectives.find(|one| Some(&one.communicator) == first.communicator.as_ref());
            begins.is_some_and(|one| one.sequence_origin == "init")
        });
        let mut pace = Self { all, median_ns: None, limit_ns: 0, is_from_init };
        let lengths: Vec<u64> = pace
            .all
            .iter()
            .filter(|one| one.complete && !pace.sets_up(one))
            .map(|one| length_ns(one))
            .collect();
        if lengths.len() >= 3 {
            let median = median(lengths.clone());
            let deviation = median_of(lengths.iter().map(|length| length.abs_diff(median)));
            pace.median_ns = Some(median);
            pace.limit_ns =
                ((median as f64 * SHARE) as u64).max(deviation.saturating_mul(DEVIATIONS));
        }
        pace
    }

    /// Whether connections are set up in it.
    pub(in crate::export) fn sets_up(&self, one: &IterationReport) -> bool {
        self.is_from_init && one.iteration == 0
    }

    /// How much longer than the median it took, if that stands out.
    pub(in crate::export) fn excess_ns(&self, one: &IterationReport) -> Option<u64> {
        let excess = length_ns(one).saturating_sub(self.median_ns?);
        (excess > self.limit_ns && !self.sets_up(one)).then_some(excess)
    }

    /// Those that stand out, by their length or because a rank was waited for, the worst first.
    pub(in crate::export) fn worst(&self) -> Vec<&'a IterationReport> {
        let cost = |one: &IterationReport| {
            let waited = one.straggler.as_ref().filter(|_| !self.sets_up(one));
            self.excess_ns(one).max(waited.map(|late| late.lag_ns))
        };
        let mut worst: Vec<&IterationReport> =
            self.all.iter().copied().filter(|one| cost(one).is_some()).collect();
        worst.sort_by_key(|one| (Reverse(cost(one)), one.iteration));
        worst
    }

    /// What begins right where another ends.
    pub(in crate::export) fn pause_before_ns(&self, at: usize) -> Option<u64> {
        let (before, one) = (self.all.get(at.checked_sub(1)?)?, self.all.get(at)?);
        let pause = one.start_ns.saturating_sub(before.end_ns);
        u64::try_from(pause).ok().filter(|pause| *pause > 0)
    }
}

/// From its first data packet to the first of the next one.
pub(in crate::export) fn length_ns(one: &IterationReport) -> u64 {
    u64::try_from(one.end_ns.saturating_sub(one.start_ns)).unwrap_or(0)
}

/// `12`, and what the training calls it: `12 (label 4812)`.
pub(in crate::export) fn name(one: &IterationReport) -> String {
    match &one.label {
        Some(label) => format!("{} (label {label})", one.iteration),
        None => one.iteration.to_string(),
    }
}

fn median_of(values: impl Iterator<Item = u64>) -> u64 {
    median(values.collect())
}

/// The lower median.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}
