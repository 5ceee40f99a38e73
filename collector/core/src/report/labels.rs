//! What training steps were labelled by.

use schemars::JsonSchema;
use serde::Serialize;

use super::Sources;
use crate::analysis::iteration::label::{LabelMethod, LabelUse};
use crate::analysis::iteration::train_log::TrainLog;

/// An anchor or a training log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LabelReport {
    /// `anchor` or `train_log`.
    pub source: &'static str,
    /// The log; `null` for the anchor.
    pub file: Option<String>,
    /// Who wrote its lines: `trainer`, `deepspeed` or `megatron`; `null` where none is known.
    pub framework: Option<&'static str>,
    /// Lines of any kind.
    pub lines: u64,
    /// Training steps that it names.
    pub training_steps: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// The last of them.
    pub last: Option<u64>,
    /// How it was joined: `anchor`, `time`, `length` or `order`; `null` where it gives no label.
    pub method: Option<&'static str>,
    /// What its clock is taken to be ahead of UTC, in seconds.
    pub zone_s: Option<i64>,
    /// Its lines in the capture that could say.
    pub compared_lines: u64,
    /// Those that agree.
    pub agreeing_lines: u64,
    /// Why it gives no label, or what to know of it.
    pub note: Option<&'static str>,
}

/// The sources in the order in which they count.
pub(super) fn section(sources: &Sources<'_>) -> Vec<LabelReport> {
    sources.understanding.label_uses.iter().map(|told| report(sources, told)).collect()
}

fn report(sources: &Sources<'_>, told: &LabelUse) -> LabelReport {
    let log = told.log.and_then(|at| sources.state.labels.logs.get(at));
    let lines = log.map(TrainLog::counted).unwrap_or_default();
    let numbers = || lines.iter().map(|one| one.says.number);
    let (agreeing_lines, compared_lines) = told.agreeing;
    LabelReport {
        source: if told.log.is_some() { "train_log" } else { "anchor" },
        file: log.map(|log| log.name.clone()),
        framework: lines.first().map(|one| one.says.dialect.name()),
        lines: log.map_or(0, |log| log.lines),
        training_steps: lines.len() as u64,
        first: numbers().min(),
        last: numbers().max(),
        method: told.method.map(LabelMethod::name),
        zone_s: told.zone_ns.map(|zone| zone / 1_000_000_000),
        compared_lines,
        agreeing_lines,
        note: told.note,
    }
}
