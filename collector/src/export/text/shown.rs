//! The queue pairs that a text is about.

use std::collections::BTreeSet;

use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::queue_pairs::{QueuePairReport, QueuePairTallies};

/// All queue pairs of a report, or those that were selected.
pub(super) struct Shown<'a> {
    /// Their rows, the worst first; of all queue pairs perhaps not every one has a row.
    pub(super) rows: Vec<&'a QueuePairReport>,
    /// How many they are.
    pub(super) tallies: QueuePairTallies,
    /// Their flows; `None` for all.
    flows: Option<BTreeSet<u32>>,
}

impl<'a> Shown<'a> {
    /// The queue pairs with a flow that `shows` selects; all if nothing does.
    pub(super) fn new(report: &'a Report, shows: Option<&dyn Fn(&FlowReport) -> bool>) -> Self {
        let rows = report.queue_pairs.iter();
        let Some(shows) = shows else {
            return Self { rows: rows.collect(), tallies: report.queue_pair_tallies, flows: None };
        };
        let is_shown = |id: &u32| report.flow(*id).is_some_and(shows);
        let rows: Vec<_> = rows.filter(|one| one.flows.iter().any(is_shown)).collect();
        let flows = rows.iter().flat_map(|one| &one.flows).copied().collect();
        let tallies = QueuePairTallies::of(rows.iter().copied());
        Self { rows, tallies, flows: Some(flows) }
    }

    /// Whether a finding is about one of them, or about no flow in particular.
    pub(super) fn has(&self, finding: &FindingReport) -> bool {
        self.flows.as_ref().is_none_or(|flows| finding.concerns_any(flows))
    }
}
