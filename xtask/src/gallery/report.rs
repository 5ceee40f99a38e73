//! The part of railscope's report that the gallery checks.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    pub(super) capture: Capture,
    pub(super) iterations: Vec<Iteration>,
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Capture {
    /// Epoch ns.
    pub(super) origin_ns: String,
}

/// A training step.
#[derive(Debug, Deserialize)]
pub(super) struct Iteration {
    pub(super) iteration: u32,
    pub(super) communicator: Option<String>,
    pub(super) start_ns: i64,
    pub(super) straggler: Option<Straggler>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Straggler {
    pub(super) rank: u32,
    pub(super) cause: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) severity: String,
    pub(super) title: String,
    pub(super) cause: Option<String>,
    pub(super) subject: Subject,
}

#[derive(Debug, Deserialize)]
pub(super) struct Subject {
    pub(super) rank: Option<u32>,
    pub(super) port: Option<String>,
}
