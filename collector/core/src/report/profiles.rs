//! Files of NCCL's profiler plugin, the edges in them, and what they could show.

use schemars::JsonSchema;
use serde::Serialize;

use super::call_records::{ProxyWaitReport, wait};
use super::words::record as words;
use crate::analysis::proxy::{
    EdgeKey, EdgeWaits, Judgement, ProcessRecords, ProfiledTrainingStep, SlowEdge,
};
use crate::analysis::understanding::Understanding;

/// Most missing ranks that are listed: a file may say that there are billions.
const MISSING_LISTED: usize = 64;

/// A file of the plugin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileReport {
    /// Its name.
    pub file: String,
    /// Records in it.
    pub records: u64,
    /// It ends within a block: it was truncated, or its process was killed or still writes.
    pub is_cut: bool,
    /// Words that make no sense, or of which the rest is missing.
    pub damaged_words: u64,
    /// Collectives at its beginning that were not judged, because it has more than 65,536.
    pub early_collectives: u64,
}

/// What a process exchanged with another rank in one direction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EdgeReport {
    /// The other rank.
    pub peer: u32,
    /// `send` or `receive`.
    pub direction: &'static str,
    /// Operations of proxies that began.
    pub operations: u64,
    /// Channels that it uses.
    pub channels: u64,
    /// Of sends, for the GPU; of receives, for the data.
    pub first: Option<ProxyWaitReport>,
    /// Of sends, for room; of receives, for the flush.
    pub second: Option<ProxyWaitReport>,
    /// Of sends, for the network; of receives, for the GPU.
    pub third: Option<ProxyWaitReport>,
    /// The second wait of transfers that are not the first of their operation, added up; `null` without
    /// any.
    pub later_second_ns: Option<u64>,
}

/// A training step that profiles show.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrainingStepByProxiesReport {
    /// Hash of the communicator whose calls repeat with it, in hexadecimal digits.
    pub communicator: String,
    /// Number from 0.
    pub number: u32,
    /// The application's own number (`userProfilerTag`); `null` if it gives none.
    pub tag: Option<u64>,
    /// When it began, in nanoseconds since 1970, by the clock of the host.
    pub start_unix_ns: u64,
    /// Until the next one began, without a pause between them; where only calls were recorded, pauses up to
    /// ten minutes count, too, because a wait looks the same there.
    pub length_ns: u64,
    /// Collectives, sends and receives of the process.
    pub collectives: u64,
    /// Time with one of them in flight in any process of the host; `null` where only calls were recorded.
    pub communication_ns: Option<u64>,
    /// It has all calls that the others have.
    pub is_whole: bool,
}

/// What the records of a communicator could show.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JudgedByProxiesReport {
    /// Hash of the communicator (`commId`), in hexadecimal digits.
    pub communicator: String,
    /// Its ranks; `null` if no process said.
    pub ranks: Option<u32>,
    /// Ranks of which there are records.
    pub recorded: Vec<u32>,
    /// Ranks of which there are none, the first 64; `null` if it is not known how many ranks there are.
    pub missing: Option<Vec<u32>>,
    /// How many those are.
    pub missing_count: Option<u32>,
    /// Collectives over rings that all ranks recorded: those that were judged.
    pub judged: u64,
    /// Collectives that were judged by their kernels, which all ranks timed.
    pub judged_by_kernels: u64,
    /// Ranks share nodes, or it is not known: those of one node wait alike, and no slow receiver is named.
    pub shares_nodes: bool,
    /// An edge whose receiver grants room late.
    pub slow_receiver: Option<SlowEdgeReport>,
    /// An edge on which data takes long.
    pub slow_path: Option<SlowEdgeReport>,
}

/// An edge on which transfers wait.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlowEdgeReport {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// What that cost, a channel on average.
    pub waited_ns: u64,
}

pub(super) fn training_steps(understanding: &Understanding) -> Vec<TrainingStepByProxiesReport> {
    let report = |one: &ProfiledTrainingStep| TrainingStepByProxiesReport {
        communicator: words::hash(one.hash),
        number: one.number,
        tag: one.tag,
        start_unix_ns: one.span.first.as_nanos(),
        length_ns: one.span.length_ns(),
        collectives: one.collectives,
        communication_ns: one.communication_ns,
        is_whole: one.is_whole,
    };
    understanding.profiled_training_steps.iter().map(report).collect()
}

pub(super) fn files(processes: &[ProcessRecords]) -> Vec<ProfileReport> {
    let files = processes.iter().map(|one| ProfileReport {
        file: one.file.clone(),
        records: one.records,
        is_cut: one.is_cut,
        damaged_words: one.damaged_words,
        early_collectives: one.early_collectives,
    });
    files.collect()
}

/// The edges of a process in its communicator `number`.
pub(super) fn edges(process: &ProcessRecords, number: u32) -> Vec<EdgeReport> {
    process.edges_of(number).map(|(key, waits)| edge(*key, waits)).collect()
}

fn edge(key: EdgeKey, waits: &EdgeWaits) -> EdgeReport {
    let [first, second, third] = &waits.waits;
    EdgeReport {
        peer: key.peer,
        direction: if key.is_send { "send" } else { "receive" },
        operations: waits.operations,
        channels: waits.channels(),
        first: wait(first),
        second: wait(second),
        third: wait(third),
        later_second_ns: (waits.later.count > 0).then_some(waits.later.total_ns),
    }
}

pub(super) fn judged(judgements: &[Judgement]) -> Vec<JudgedByProxiesReport> {
    let slow = |edge: SlowEdge| {
        let SlowEdge { from, to, waited_ns } = edge;
        SlowEdgeReport { from, to, waited_ns }
    };
    let judged = judgements.iter().map(|one| JudgedByProxiesReport {
        communicator: words::hash(one.hash),
        ranks: one.ranks,
        recorded: one.recorded.iter().copied().collect(),
        missing: one.ranks.map(|_| one.missing().take(MISSING_LISTED).collect()),
        missing_count: one.missing_count(),
        judged: one.judged,
        judged_by_kernels: one.judged_by_kernels,
        shares_nodes: one.shares_nodes,
        slow_receiver: one.slow_receiver.map(slow),
        slow_path: one.slow_path.map(slow),
    });
    judged.collect()
}
