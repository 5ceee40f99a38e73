//! What can be looked at: a table of a report each.

mod bursts;
mod findings;
mod iterations;
mod queue_pairs;
mod ranks;
mod signals;

use super::grid::Grid;
use railscope_core::report::Report;

/// One of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Iterations,
    Ranks,
    QueuePairs,
    Bursts,
    Signals,
    Findings,
}

impl View {
    pub(super) const ALL: [Self; 6] = [
        Self::Iterations,
        Self::Ranks,
        Self::QueuePairs,
        Self::Bursts,
        Self::Signals,
        Self::Findings,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Iterations => "Training steps",
            Self::Ranks => "Ranks",
            Self::QueuePairs => "QPs",
            Self::Bursts => "Bursts",
            Self::Signals => "ECN/PFC",
            Self::Findings => "Findings",
        }
    }

    pub(super) fn grid(self, report: &Report) -> Grid {
        match self {
            Self::Iterations => iterations::grid(report),
            Self::Ranks => ranks::grid(report),
            Self::QueuePairs => queue_pairs::grid(report),
            Self::Bursts => bursts::grid(report),
            Self::Signals => signals::grid(report),
            Self::Findings => findings::grid(report),
        }
    }
}
