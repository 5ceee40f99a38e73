//! The tables, one a file: what a row is, and its columns.

mod captures;
mod collectives;
mod findings;
mod ports;
mod ports_per_second;
mod queue_pairs;
mod rank_waits;
mod straggler;
mod training_steps;
mod verdicts;

pub(super) use self::captures::Captures;
pub(super) use self::collectives::Collectives;
pub(super) use self::findings::Findings;
pub(super) use self::ports::Ports;
pub(super) use self::ports_per_second::PortsPerSecond;
pub(super) use self::queue_pairs::QueuePairs;
pub(super) use self::rank_waits::RankWaits;
pub(super) use self::training_steps::TrainingSteps;
pub(super) use self::verdicts::Verdicts;

use super::context::Context;

/// What the column `capture` holds, in all tables.
const CAPTURE: &str = "The capture: joins all tables.";

/// A row that is an entry of a section of the report.
pub(super) struct Entry<'a, T> {
    context: &'a Context<'a>,
    one: &'a T,
}

impl<'a, T> Entry<'a, T> {
    fn list(context: &'a Context<'a>, section: &'a [T]) -> Vec<Self> {
        section.iter().map(|one| Self { context, one }).collect()
    }
}

/// Nanoseconds from one time to another; 0 if it is not later.
fn between(start_ns: i64, end_ns: i64) -> u64 {
    u64::try_from(end_ns.saturating_sub(start_ns)).unwrap_or(0)
}
