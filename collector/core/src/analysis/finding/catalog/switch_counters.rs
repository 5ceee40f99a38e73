//! What findings about counters of a switch have in common.

use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::switch::{Counted, Switch};
use crate::model::switch::{Measure, Place};

/// What was counted in `period`, by place.
pub(super) fn of_period<'a>(
    moved: impl Iterator<Item = (&'a Place, Counted)>,
    period: Period,
) -> Vec<(Place, u64)> {
    let is_twice = period == Period::BetweenReadings;
    let own = moved.filter(|(_, counted)| counted.before.is_some() == is_twice);
    own.map(|(place, counted)| (place.clone(), counted.counted())).collect()
}

/// The finding with the first line of a table that has one of `measures`.
pub(super) fn because(finding: Finding, switch: &Switch, measures: &[Measure]) -> Finding {
    match measures.iter().find_map(|measure| switch.lines.get(measure)) {
        Some((witness, quote)) => {
            finding.because(Proof::log(LogObservation::Quote(quote.clone()), *witness))
        }
        None => finding,
    }
}
