//! What a check says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Missing;

/// How good or bad it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Right,
    /// Could not be checked.
    Unknown,
    /// Worth knowing; no fault.
    Note,
    /// It may cost time, or fail under some jobs.
    Warning,
    /// Jobs fail or run many times slower.
    Critical,
}

/// What a check says of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Name of the check.
    pub check: String,
    /// How good or bad it is.
    pub status: Status,
    /// What it says, in one or two sentences.
    pub says: String,
    /// How that is known: files, calls.
    pub seen: String,
    /// How to make it right: a command, or what to do.
    pub fix: Option<String>,
}

impl Outcome {
    /// As it should be.
    #[must_use]
    pub fn right(says: impl Into<String>) -> Self {
        Self::new(Status::Right, says)
    }

    /// Worth knowing.
    #[must_use]
    pub fn note(says: impl Into<String>) -> Self {
        Self::new(Status::Note, says)
    }

    /// It may cost time.
    #[must_use]
    pub fn warning(says: impl Into<String>) -> Self {
        Self::new(Status::Warning, says)
    }

    /// Jobs fail or run many times slower.
    #[must_use]
    pub fn critical(says: impl Into<String>) -> Self {
        Self::new(Status::Critical, says)
    }

    /// Could not be checked.
    #[must_use]
    pub fn unknown(missing: &Missing) -> Self {
        Self::new(Status::Unknown, format!("Not checked: {missing}.")).seen(&missing.what)
    }

    /// Could not be checked; with how a person can.
    #[must_use]
    pub fn unseen(says: impl Into<String>) -> Self {
        Self::new(Status::Unknown, says)
    }

    fn new(status: Status, says: impl Into<String>) -> Self {
        Self { check: String::new(), status, says: says.into(), seen: String::new(), fix: None }
    }

    /// With how it is known.
    #[must_use]
    pub fn seen(self, seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), ..self }
    }

    /// With how to make it right.
    #[must_use]
    pub fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}
