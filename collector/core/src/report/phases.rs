//! Phases of the job.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Sources, communicators};
use crate::analysis::phase::Phase;

/// A phase.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseReport {
    /// `rendezvous`, `bootstrap`, `parameter_broadcast`, `training` or `idle`.
    pub phase: &'static str,
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// `id` of the communicator; `null` where it is of none.
    pub communicator: Option<String>,
}

/// The phases in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<PhaseReport> {
    let Some(linked) = sources.linked else { return Vec::new() };
    let report = |phase: &Phase| {
        let place = phase.communicator.map(|id| id.0 as usize);
        let communicator = place.and_then(|place| linked.job.communicators.get(place));
        PhaseReport {
            phase: phase.kind.name(),
            start_ns: sources.relative_ns(phase.span.first),
            end_ns: sources.relative_ns(phase.span.last),
            communicator: communicator.map(|one| communicators::name(one.identity)),
        }
    };
    linked.phases.iter().map(report).collect()
}
