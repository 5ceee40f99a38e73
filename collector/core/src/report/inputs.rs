//! The files that a report was made from, and how much of each was read.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::decode::tool::Output;
use crate::model::tap::TapId;
use crate::model::witness::LogId;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputReport {
    /// Its name.
    pub file: String,
    /// `capture`, `nccl_log`, `nccl_tests`, `topology`, `switch`, `tool_output` (several, or others),
    /// `counters`, `flight_recorder` or `ras`.
    pub kind: &'static str,
    /// What was read of it: frames, lines that were recognised, samples of a NIC, calls or
    /// communicators.
    pub read: u64,
    /// NCCL's lines in an unknown format; all other lines of text in which nothing of NCCL was
    /// recognised; `null` for other files.
    pub unread: Option<u64>,
    /// Why nothing was read of it; `null` if something was.
    pub note: Option<&'static str>,
}

/// Why nothing was read of lines of a dump of PyTorch's flight recorder.
const EXCERPT: &str = "it looks like an excerpt of a dump of PyTorch's flight recorder: name the whole file, \
                       TORCH_NCCL_DEBUG_INFO_TEMP_FILE with the rank's number, of each rank";

/// The files, captures first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<InputReport> {
    let state = sources.state;
    let mut inputs: Vec<InputReport> = Vec::new();
    for (id, tap) in (0..).map(TapId).zip(state.tracker.taps()) {
        let Some(file) = sources.tap_file(id) else { continue };
        match inputs.iter_mut().find(|known| known.file == file) {
            Some(known) => known.read += tap.frames,
            None => inputs.push(input(file, "capture", tap.frames, None, "no frame")),
        }
    }
    for (id, log) in (0..).map(LogId).zip(&state.logs.files) {
        let of_log = log.entries + log.job_lines - log.unknown;
        let of_outputs = state.output_lines.get(&id).copied().unwrap_or(0);
        let read = of_log + of_outputs;
        let (kind, unread) = match (of_log, of_outputs) {
            (0, 0) => ("nccl_log", log.lines),
            (0, _) => (kind_of(sources, id), log.lines.saturating_sub(read)),
            _ => ("nccl_log", log.unknown),
        };
        let note = match state.excerpts.contains(&id) {
            true => EXCERPT,
            false => "no line was recognised",
        };
        inputs.push(input(log.name.clone(), kind, read, Some(unread), note));
    }
    for (file, samples) in state.counters.files.iter().zip(&state.counters.samples) {
        inputs.push(input(file.clone(), "counters", *samples, None, "no sample"));
    }
    for one in &state.roll_call.dumps {
        let calls = one.dump.calls.len() as u64;
        inputs.push(input(one.file.clone(), "flight_recorder", calls, None, "no call"));
    }
    for (file, status) in &state.roll_call.statuses {
        let communicators = status.communicators.len() as u64;
        inputs.push(input(file.clone(), "ras", communicators, None, "no communicator"));
    }
    for one in &state.proxies {
        inputs.push(input(one.file.clone(), "profiler", one.records, None, "no record"));
    }
    for input in &mut inputs {
        input.note = input.note.filter(|_| input.read == 0);
    }
    inputs
}

/// The kind of a text in which only outputs of other tools were recognised.
fn kind_of(sources: &Sources<'_>, log: LogId) -> &'static str {
    let own = sources.state.outputs.iter().filter(|found| found.log == log);
    let mut kinds = own.map(|found| match found.output {
        Output::Benchmark(_) => "nccl_tests",
        Output::Distances(_) | Output::Graphs(_) => "topology",
        Output::Totals(_) => "counters",
        Output::Switch(_) => "switch",
        _ => "tool_output",
    });
    let first = kinds.next().unwrap_or("tool_output");
    if kinds.all(|kind| kind == first) { first } else { "tool_output" }
}

fn input(
    file: String,
    kind: &'static str,
    read: u64,
    unread: Option<u64>,
    note: &'static str,
) -> InputReport {
    InputReport { file, kind, read, unread, note: Some(note) }
}
