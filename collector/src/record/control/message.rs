//! What is said over the socket.

use serde::{Deserialize, Serialize};

/// Bytes of a line at most.
pub(super) const LINE_LIMIT: usize = 4096;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Save the ring.
    Save(SaveRequest),
}

/// How to save.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaveRequest {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long to record on; `None`: as the capture was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// What the capture answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The file, and one line on it.
    Saved(String),
    /// Why there is none.
    Error(String),
}
