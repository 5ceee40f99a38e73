//! Evidence: what a statement rests on, with the frame or line that shows it.

use schemars::JsonSchema;
use serde::Serialize;

/// One reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvidenceReport {
    /// `frame`, `log`, or `many` where it rests on many observations.
    pub kind: &'static str,
    /// The capture's or log's file name; `null` where it rests on many.
    pub source: Option<String>,
    /// Number of the frame in its file, from 1; `null` for a log.
    pub frame: Option<u64>,
    /// Number of the line in its file, from 1; `null` for a frame.
    pub line: Option<u64>,
    /// Time of the frame; `null` where there is none.
    pub time_ns: Option<i64>,
    /// What it says, in words.
    pub text: String,
}
