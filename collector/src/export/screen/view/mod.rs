//! The views: an overview, and one table per subject.

mod bursts;
mod evidence;
mod findings;
pub(super) mod iterations;
pub(super) mod late;
mod verdicts;
mod queue_pairs;
mod ranks;
mod signals;

use super::grid::Grid;
use railscope_core::report::Report;

/// One tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    /// Late ranks, verdicts and training steps on one screen; the user moves through the verdicts.
    #[default]
    Overview,
    Iterations,
    Ranks,
    QueuePairs,
    Bursts,
    Signals,
    Findings,
}

impl View {
    pub(super) const ALL: [Self; 7] = [
        Self::Overview,
        Self::Iterations,
        Self::Ranks,
        Self::QueuePairs,
        Self::Bursts,
        Self::Signals,
        Self::Findings,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Iterations => "Steps",
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
            Self::Overview => verdicts::grid(report),
            Self::Findings => findings::grid(report),
        }
    }
}
