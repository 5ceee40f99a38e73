//! How much compute varies between the ranks of a training step, whichever rank is last.

use std::collections::BTreeMap;

use super::unit::{LEAST_UNITS, Units};
use crate::link::job::CommunicatorId;
use crate::model::time::Span;

/// What training steps wait for their last rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// The communicator.
    pub communicator: CommunicatorId,
    /// By how much the last rank is later than the middle one: the mean without the longest tenth.
    /// Where the rank behind the last one is late, too, less of it is seen, or nothing.
    pub usual_ns: u64,
    /// The same as a share of the median training step.
    pub share: f64,
    /// The sum over all training steps.
    pub total_ns: u64,
    /// From the first training step to the last.
    pub span: Span,
}

/// The jitter of every communicator with enough training steps and more than one rank.
#[must_use]
pub fn measure(units: &BTreeMap<CommunicatorId, Units>) -> Vec<Jitter> {
    units.iter().filter_map(|(id, units)| of_communicator(*id, units)).collect()
}

fn of_communicator(communicator: CommunicatorId, units: &Units) -> Option<Jitter> {
    let all = &units.all;
    if !units.are_iterations || all.len() < LEAST_UNITS || units.ranks().len() < 2 {
        return None;
    }
    let latest = all.iter().filter_map(|unit| unit.latest()[0]);
    let mut waits: Vec<u64> =
        latest.map(|(late_ns, _)| u64::try_from(late_ns).unwrap_or(0)).collect();
    waits.sort_unstable();
    let usual = waits.get(..waits.len() - waits.len().div_ceil(10))?;
    let usual_ns = usual.iter().sum::<u64>().checked_div(usual.len() as u64)?;
    let length_ns = units.length_ns();
    Some(Jitter {
        communicator,
        usual_ns,
        share: usual_ns as f64 / length_ns.max(1) as f64,
        total_ns: waits.iter().sum(),
        span: Span { first: all.first()?.span.first, last: all.last()?.span.last },
    })
}
