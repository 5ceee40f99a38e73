//! What findings about counters of a switch have in common.

use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::switch::{Counted, Switch};
use crate::model::switch::{Measure, Place};

/// What `finding` finds at each switch: in what rose between two readings, and in what is known of one.
pub(super) fn each(
    facts: &Facts<'_>,
    finding: impl Fn(&Switch, Period) -> Option<Finding>,
) -> Vec<Finding> {
    let periods = [Period::BetweenReadings, Period::SinceBoot];
    let all = facts.state.switches.iter().flat_map(|switch| periods.map(|period| (switch, period)));
    all.filter_map(|(switch, period)| finding(switch, period)).collect()
}

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
