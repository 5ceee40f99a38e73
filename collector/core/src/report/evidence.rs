//! Evidence for a statement, with the frame or line that shows it.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::words;
use crate::link::evidence::Evidence;
use crate::model::witness::Witness;

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceReport {
    /// Its kind. For links: `oob_exchange`, `transport_setup`, `ring_gather`, `check_in`,
    /// `process`, `unique_id`, `log`, `connection_manager`, `cts_match`, `cts_tag`, `psn_ack`,
    /// `udp_port`, `payload` or `ring_shape`. For findings: `frame`, `log`, `counter`, `call` or `record`.
    /// For stragglers: the sign that points to the rank.
    pub kind: &'static str,
    /// The capture's or log's file name; `null` if it rests on several.
    pub source: Option<String>,
    /// Number of the frame in its file, from 1; `null` for a log.
    pub frame: Option<u64>,
    /// Number of the line in its file, from 1; `null` for a frame.
    pub line: Option<u64>,
    /// Time of the frame or counter sample; `null` if there is none.
    pub time_ns: Option<i64>,
    /// What it shows, in words.
    pub text: String,
}

impl EvidenceReport {
    /// The reports of `evidence`, the strongest first.
    pub(super) fn list(sources: &Sources<'_>, evidence: &[Evidence]) -> Vec<Self> {
        let mut sorted = evidence.to_vec();
        sorted.sort_by_key(|reason| std::cmp::Reverse(reason.kind));
        sorted.iter().map(|reason| Self::new(sources, reason)).collect()
    }

    fn new(sources: &Sources<'_>, evidence: &Evidence) -> Self {
        let text = words::evidence::link(evidence.kind, evidence.count);
        Self::stated(sources, evidence.kind.name(), text, evidence.witness)
    }

    /// A piece of evidence with its words.
    pub(super) fn stated(
        sources: &Sources<'_>,
        kind: &'static str,
        text: String,
        witness: Option<Witness>,
    ) -> Self {
        match witness {
            None => Self { kind, source: None, frame: None, line: None, time_ns: None, text },
            Some(Witness::Frame { tap, number, time }) => Self {
                kind,
                source: sources.tap_file(tap),
                frame: Some(number),
                line: None,
                time_ns: Some(sources.relative_ns(time)),
                text,
            },
            Some(Witness::Sample { file, number, time }) => Self {
                kind,
                source: sources.counter_file(file),
                frame: None,
                line: Some(number),
                time_ns: Some(sources.relative_ns(time)),
                text,
            },
            Some(Witness::Line { log, number }) => Self {
                kind,
                source: sources.log_name(log),
                frame: None,
                line: Some(number),
                time_ns: None,
                text,
            },
        }
    }
}
