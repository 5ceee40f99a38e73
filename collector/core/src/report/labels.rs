//! Sources of the training steps' labels.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::words;
use crate::analysis::iteration::label::{LabelMethod, LabelUse};
use crate::analysis::iteration::train_log::TrainLog;

/// An anchor or a training log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LabelReport {
    /// `anchor` or `train_log`.
    pub source: &'static str,
    /// The log; `null` for the anchor.
    pub file: Option<String>,
    /// Framework that wrote its lines: `trainer`, `deepspeed` or `megatron`; `null` if unknown.
    pub framework: Option<&'static str>,
    /// Number of lines.
    pub lines: u64,
    /// Number of training steps that it names.
    pub training_steps: u64,
    /// The first training step that it names.
    pub first: Option<u64>,
    /// The last training step that it names.
    pub last: Option<u64>,
    /// How it was joined: `anchor`, `time`, `length` or `order`; `null` if it gives no label.
    pub method: Option<&'static str>,
    /// Assumed offset of its clock from UTC, in seconds.
    pub zone_s: Option<i64>,
    /// Number of its lines that fall into the capture and can be compared.
    pub compared_lines: u64,
    /// Number of compared lines that agree.
    pub agreeing_lines: u64,
    /// Why it gives no label, or a caveat.
    pub note: Option<&'static str>,
}

/// The sources in order of precedence.
pub(super) fn section(sources: &Sources<'_>) -> Vec<LabelReport> {
    sources.understanding.label_uses.iter().map(|label_use| report(sources, label_use)).collect()
}

fn report(sources: &Sources<'_>, label_use: &LabelUse) -> LabelReport {
    let log = label_use.log.and_then(|at| sources.state.labels.logs.get(at));
    let lines = log.map(TrainLog::counted).unwrap_or_default();
    let numbers = || lines.iter().map(|one| one.says.number);
    let (agreeing_lines, compared_lines) = label_use.agreeing;
    LabelReport {
        source: if label_use.log.is_some() { "train_log" } else { "anchor" },
        file: log.map(|log| log.name.clone()),
        framework: lines.first().map(|one| one.says.dialect.name()),
        lines: log.map_or(0, |log| log.lines),
        training_steps: lines.len() as u64,
        first: numbers().min(),
        last: numbers().max(),
        method: label_use.method.map(LabelMethod::name),
        zone_s: label_use.zone_ns.map(|zone| zone / 1_000_000_000),
        compared_lines,
        agreeing_lines,
        note: label_use.note.map(words::label::note),
    }
}
