//! Phases of the job.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::phase::Phase;

/// A period in which the job did one kind of thing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseReport {
    /// `rendezvous`, `bootstrap`, `parameter_broadcast`, `training` or `idle`.
    pub phase: &'static str,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// `id` of the communicator; `null` for phases without one.
    pub communicator: Option<String>,
}

/// The phases in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<PhaseReport> {
    let job = sources.state.job.as_ref();
    let report = |phase: &Phase| PhaseReport {
        phase: phase.kind.name(),
        start_ns: sources.relative_ns(phase.span.first),
        end_ns: sources.relative_ns(phase.span.last),
        communicator: phase.communicator.and_then(|id| job?.name_of(id)),
    };
    sources.understanding.phases.iter().map(report).collect()
}
