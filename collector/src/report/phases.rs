//! Phases of the job.

use schemars::JsonSchema;
use serde::Serialize;

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
