//! What processes recorded of their own calls: dumps of PyTorch's flight recorder, and answers of NCCL's
//! RAS.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::words::record as words;
use crate::analysis::roll_call::WhyUnused;

/// What was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallRecordsReport {
    /// Dumps of the flight recorder, by rank.
    pub dumps: Vec<DumpReport>,
    /// Answers of RAS, in the order in which they were taken.
    pub ras: Vec<RasReport>,
    /// Dumps and answers that were given and are not used.
    pub unused: Vec<UnusedRecordReport>,
}

/// A dump or an answer of RAS that is not used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnusedRecordReport {
    /// Its file.
    pub file: String,
    /// `flight_recorder` or `ras`.
    pub source: &'static str,
    /// The rank of a dump.
    pub rank: Option<u32>,
    /// It could be read, but is of another job or another time.
    pub is_misfit: bool,
    /// Why it is not used.
    pub why: String,
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
    let unused = recorded.unused.iter().map(|one| UnusedRecordReport {
        file: one.file.clone(),
        source: if one.rank.is_some() { "flight_recorder" } else { "ras" },
        rank: one.rank,
        is_misfit: matches!(one.why, WhyUnused::Misfit(_)),
        why: words::why_unused(&one.why),
    });
    CallRecordsReport { dumps: dumps.collect(), ras: ras.collect(), unused: unused.collect() }
}
