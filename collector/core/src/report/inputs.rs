//! The files that a report was made from, and how much of each was read.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::model::tap::TapId;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputReport {
    /// Its name.
    pub file: String,
    /// `capture`, `nccl_log`, `counters`, `flight_recorder` or `ras`.
    pub kind: &'static str,
    /// What was read of it: frames, lines that were recognised, samples of a NIC, calls or
    /// communicators.
    pub read: u64,
    /// NCCL's lines in an unknown format; all lines of a log of which none was recognised; `null` for
    /// other files.
    pub unread: Option<u64>,
    /// Why nothing was read of it; `null` if something was.
    pub note: Option<&'static str>,
}

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
    for log in &state.logs.files {
        let read = log.entries + log.job_lines - log.unknown;
        let unread = if read == 0 { log.lines } else { log.unknown };
        let note = "no line was recognised";
        inputs.push(input(log.name.clone(), "nccl_log", read, Some(unread), note));
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
    for input in &mut inputs {
        input.note = input.note.filter(|_| input.read == 0);
    }
    inputs
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
