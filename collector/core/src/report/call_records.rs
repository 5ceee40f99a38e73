//! What processes recorded of their own calls: dumps of PyTorch's flight recorder, and answers of NCCL's
//! RAS.

use schemars::JsonSchema;
use serde::Serialize;

use super::profiles::{
    self, EdgeReport, JudgedByProxiesReport, ProfileReport, TrainingStepByProxiesReport,
};
use super::sources::Sources;
use super::words::record as words;
use crate::analysis::proxy::{Judgement, Lateness, ProcessRecords, ShownBy, WaitSum};
use crate::analysis::roll_call::WhyUnused;

/// What was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallRecordsReport {
    /// Dumps of the flight recorder, by rank.
    pub dumps: Vec<DumpReport>,
    /// Answers of RAS, in the order in which they were taken.
    pub ras: Vec<RasReport>,
    /// Processes that NCCL's profiler plugin recorded, one for each communicator.
    pub proxies: Vec<ProxyReport>,
    /// Ranks that the others waited for, by the records of all ranks of a communicator.
    pub late_by_proxies: Vec<LateByProxiesReport>,
    /// What the records of each communicator could show.
    pub judged_by_proxies: Vec<JudgedByProxiesReport>,
    /// Training steps, as the calls of one process of each job repeat.
    pub training_steps_by_proxies: Vec<TrainingStepByProxiesReport>,
    /// Files of the profiler plugin.
    pub profiles: Vec<ProfileReport>,
    /// Dumps and answers that were given and are not used.
    pub unused: Vec<UnusedRecordReport>,
}

/// A dump or an answer of RAS that is not used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnusedRecordReport {
    /// Its file.
    pub file: String,
    /// `flight_recorder`, `ras` or `profiler`.
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

/// What the proxies of a process did for a communicator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProxyReport {
    /// The file.
    pub file: String,
    /// The host.
    pub host: String,
    /// The process, as it sees itself.
    pub pid: u32,
    /// Hash of the communicator (`commId`), in hexadecimal digits; `null` if unknown.
    pub communicator: Option<String>,
    /// Rank in the communicator; `null` if unknown.
    pub rank: Option<u32>,
    /// Collectives, sends and receives that were enqueued.
    pub collectives: u64,
    /// Operations of proxies that ended.
    pub operations: u64,
    /// Transfers that ended.
    pub transfers: u64,
    /// Bytes of the operations; `null` if NCCL did not say.
    pub bytes: Option<u64>,
    /// Waits, by name; a wait that no transfer had is `null`.
    pub waits: ProxyWaitsReport,
    /// Kernels of its collectives by the GPU's timer; `null` if NCCL was not asked for `KernelCh`.
    pub kernels: Option<KernelsReport>,
    /// Waits by the other rank and direction.
    pub edges: Vec<EdgeReport>,
    /// Words of records that were overwritten before they were read, in the whole process.
    pub overwritten_words: u64,
    /// Records that the plugin could not keep, in the whole process.
    pub lost: u64,
}

/// Waits of transfers. Several wait at the same time: sums may be longer than the job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProxyWaitsReport {
    /// Of sends, until the GPU has the data there.
    pub send_gpu: Option<ProxyWaitReport>,
    /// Of sends, until the receiver has granted room.
    pub peer: Option<ProxyWaitReport>,
    /// Of sends, until the network is done.
    pub send: Option<ProxyWaitReport>,
    /// Of receives, until the data is there.
    pub recv: Option<ProxyWaitReport>,
    /// Of receives, until the data is flushed.
    pub flush: Option<ProxyWaitReport>,
    /// Of receives, until the GPU has taken the data.
    pub recv_gpu: Option<ProxyWaitReport>,
}

/// Waits of one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProxyWaitReport {
    /// Transfers whose wait is known.
    pub count: u64,
    /// All of them.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// Kernels of collectives: of several channels, from the first one's begin to the last one's end.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KernelsReport {
    /// Collectives whose kernel was timed, the last 65,536 of a process.
    pub collectives: u64,
    /// All of them.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// A rank that the others waited for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LateByProxiesReport {
    /// Hash of the communicator (`commId`), in hexadecimal digits.
    pub communicator: String,
    /// The rank.
    pub rank: u32,
    /// Collectives in which it was late by a millisecond or more.
    pub collectives: u64,
    /// Collectives that all ranks recorded.
    pub judged: u64,
    /// What the others waited for it, in all of them.
    pub late_ns: u64,
    /// `gpu`: its GPU had the data late; `enqueue`: it called late; `unknown`.
    pub why: &'static str,
    /// It shares a node, and the clock of the node shows that it called when its other ranks had their data.
    pub by_clock: bool,
    /// The lengths of kernels show it, and the waits of proxies do not.
    pub by_kernels: bool,
}

pub(super) fn wait(sum: &WaitSum) -> Option<ProxyWaitReport> {
    let WaitSum { count, total_ns, longest_ns } = *sum;
    (count > 0).then_some(ProxyWaitReport { count, total_ns, longest_ns })
}

fn kernels(sum: &WaitSum) -> Option<KernelsReport> {
    let WaitSum { count: collectives, total_ns, longest_ns } = *sum;
    (collectives > 0).then_some(KernelsReport { collectives, total_ns, longest_ns })
}

fn proxies(process: &ProcessRecords) -> impl Iterator<Item = ProxyReport> {
    let header = process.header.as_ref();
    let used = process.communicators.iter().filter(|(_, of)| of.collectives + of.transfers > 0);
    used.map(move |(number, waits)| {
        let [send_gpu, peer, send, recv, flush, recv_gpu] = &waits.waits;
        let of = waits.of.as_ref();
        ProxyReport {
            file: process.file.clone(),
            host: header.map(|header| header.host.clone()).unwrap_or_default(),
            pid: header.map_or(0, |header| header.pid),
            communicator: of.and_then(|of| of.hash).map(words::hash),
            rank: of.and_then(|of| of.rank),
            collectives: waits.collectives,
            operations: waits.operations,
            transfers: waits.transfers,
            bytes: Some(waits.bytes).filter(|bytes| *bytes > 0),
            waits: ProxyWaitsReport {
                send_gpu: wait(send_gpu),
                peer: wait(peer),
                send: wait(send),
                recv: wait(recv),
                flush: wait(flush),
                recv_gpu: wait(recv_gpu),
            },
            kernels: kernels(&process.kernels_of(*number)),
            edges: profiles::edges(process, *number),
            overwritten_words: process.overwritten_words,
            lost: process.lost.iter().fold(0, |sum, lost| u64::saturating_add(sum, *lost)),
        }
    })
}

fn late_by_proxies(judged: &[Judgement]) -> Vec<LateByProxiesReport> {
    let late = judged.iter().filter_map(|one| one.late).map(|late| LateByProxiesReport {
        communicator: words::hash(late.hash),
        rank: late.rank,
        collectives: late.collectives,
        judged: late.judged,
        late_ns: late.late_ns,
        why: match late.why {
            Lateness::Gpu => "gpu",
            Lateness::Enqueue => "enqueue",
            Lateness::Unknown => "unknown",
        },
        by_clock: late.shown_by == ShownBy::Clock,
        by_kernels: late.shown_by == ShownBy::Kernels,
    });
    late.collect()
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
        source: one.source,
        rank: one.rank,
        is_misfit: matches!(one.why, WhyUnused::Misfit(_)),
        why: words::why_unused(&one.why),
    });
    let processes = &sources.state.proxies;
    CallRecordsReport {
        dumps: dumps.collect(),
        ras: ras.collect(),
        proxies: processes.iter().flat_map(proxies).collect(),
        late_by_proxies: late_by_proxies(&sources.understanding.profiles),
        judged_by_proxies: profiles::judged(&sources.understanding.profiles),
        training_steps_by_proxies: profiles::training_steps(sources.understanding),
        profiles: profiles::files(processes),
        unused: unused.collect(),
    }
}
