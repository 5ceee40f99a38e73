//! What processes recorded of their own calls: dumps of PyTorch's flight recorder, and answers of NCCL's
//! RAS.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;

/// What was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallRecordsReport {
    /// Dumps of the flight recorder, by rank.
    pub dumps: Vec<DumpReport>,
    /// Answers of RAS, in the order given.
    pub ras: Vec<RasReport>,
}

/// A dump of the flight recorder.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DumpReport {
    /// Its file.
    pub file: String,
    /// The rank in the job that wrote it.
    pub rank: u32,
    /// Version of its format.
    pub version: String,
    /// Calls in it.
    pub calls: u64,
    /// No earlier call was overwritten.
    pub is_whole: bool,
}

/// An answer of RAS.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RasReport {
    /// Its file.
    pub file: String,
    /// When it was given, by the local clock of the process that answered; `null` in text.
    pub taken: Option<String>,
    /// Communicators in it; in text, those with trouble.
    pub communicators: u64,
}

pub(super) fn section(sources: &Sources<'_>) -> CallRecordsReport {
    let recorded = &sources.state.roll_call;
    let dumps = recorded.dumps.iter().map(|one| DumpReport {
        file: one.file.clone(),
        rank: one.rank,
        version: one.dump.version.clone(),
        calls: one.dump.calls.len() as u64,
        is_whole: one.dump.is_whole,
    });
    let ras = recorded.statuses.iter().map(|(file, status)| RasReport {
        file: file.clone(),
        taken: status.taken.clone(),
        communicators: status.communicators.len() as u64,
    });
    CallRecordsReport { dumps: dumps.collect(), ras: ras.collect() }
}
