//! Flows whose ranks are unknown or incomplete, by reason.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::owner;
use super::sources::Sources;
use crate::analysis::unlinked::{Unlinked, WhyUnknown};

/// Flows that lack ranks for the same reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnlinkedReport {
    /// The reason, as `flows[].owner.why_unknown`.
    pub why_unknown: Cow<'static, str>,
    /// Their communicator is known, but not all of their ranks and channels.
    pub has_communicator: bool,
    /// Flows, each once, however many taps saw it.
    pub flows: u64,
    /// Their frames, each flow's at the tap that saw most.
    pub frames: u64,
    /// Their payload, likewise.
    pub payload_bytes: u64,
}

/// The reasons, that of most payload first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<UnlinkedReport> {
    let report = |one: &Unlinked| UnlinkedReport {
        why_unknown: owner::why(&one.why),
        has_communicator: matches!(one.why, WhyUnknown::Incomplete(_)),
        flows: one.flows,
        frames: one.frames,
        payload_bytes: one.payload_bytes,
    };
    sources.understanding.unlinked.iter().map(report).collect()
}
