//! News of a live job, as the report lists it.

use super::Report;
use super::collectives::CollectiveReport;
use super::findings::FindingReport;
use super::iterations::IterationReport;
use super::verdicts::VerdictReport;
use crate::analysis::ledger::News;

/// What is new in a report.
#[derive(Clone, Debug, Default)]
pub struct ReportNews<'a> {
    /// Training steps, in order of time.
    pub iterations: Vec<&'a IterationReport>,
    /// Collectives, in order of time.
    pub collectives: Vec<&'a CollectiveReport>,
    /// Findings, the worst first.
    pub findings: Vec<&'a FindingReport>,
    /// Verdicts that say that something is wrong, the costliest first.
    pub verdicts: Vec<&'a VerdictReport>,
}

impl<'a> ReportNews<'a> {
    /// `news` and `report` must come from the same `Understanding`.
    #[must_use]
    pub fn new(report: &'a Report, news: &News) -> Self {
        Self {
            iterations: select(&report.iterations, &news.iterations),
            collectives: select(&report.collectives, &news.collectives),
            findings: select(&report.findings, &news.findings),
            verdicts: select(&report.verdicts, &news.verdicts),
        }
    }
}

fn select<'a, T>(section: &'a [T], places: &[usize]) -> Vec<&'a T> {
    places.iter().filter_map(|at| section.get(*at)).collect()
}
