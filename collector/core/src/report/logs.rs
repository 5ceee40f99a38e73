//! What NCCL's logs say: their processes, networks, set-up times and warnings.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::link::log::membership::{EdgeFact, Membership, TimingFact};
use crate::link::log::network::NetworkAttempt;
use crate::link::log::process::{HcaFact, Process};
use crate::link::log::warning::Warning;
use crate::model::nccl::CollectiveKind;
use crate::model::witness::{LogId, Witness};

/// NCCL's logs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogsReport {
    /// The log files, in the order given.
    pub files: Vec<LogFileReport>,
    /// The processes that wrote them, by host and process id.
    pub processes: Vec<LogProcessReport>,
    /// Lines of NCCL unknown to railscope, by their first words.
    pub unparsed: Vec<UnparsedReport>,
}

/// How much of a file is NCCL's.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogFileReport {
    /// Its name.
    pub file: String,
    /// All lines.
    pub lines: u64,
    /// Log entries of NCCL.
    pub nccl_entries: u64,
    /// Lines of other programs that report trouble: PyTorch, launchers, libraries, the kernel.
    pub other_lines: u64,
    /// Lines of outputs of other tools: `ethtool -S`, nccl-tests, ...
    pub output_lines: u64,
}

/// A line of a log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LineReport {
    /// Name of the log file.
    pub file: String,
    /// Line number in the file, from 1.
    pub line: u64,
}

/// What one process logged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogProcessReport {
    /// Name of its host.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
    /// NCCL's release.
    pub nccl_version: Option<String>,
    /// Log entries.
    pub entries: u64,
    /// The first log entry.
    pub first_line: Option<LineReport>,
    /// Interface of its control plane.
    pub interface: Option<String>,
    /// Address of its control plane.
    pub address: Option<String>,
    /// Network that carries data between nodes.
    pub network: Option<String>,
    /// Networks that it tried, in order.
    pub networks: Vec<NetworkReport>,
    /// The Libfabric plugin, aws-ofi-nccl; `null` if it was not loaded.
    pub ofi: Option<OfiReport>,
    /// Plugins other than network plugins.
    pub plugins: Vec<PluginReport>,
    /// Ports that NET/IB uses.
    pub hcas: Vec<HcaReport>,
    /// Environment variables that NCCL used.
    pub environment: BTreeMap<String, String>,
    /// Its ranks, in order of creation.
    pub ranks: Vec<LogRankReport>,
    /// Edges whose communicator the log does not name, by transport.
    pub shared_edges: BTreeMap<String, u64>,
    /// Number of queue pairs that the log names.
    pub queue_pairs: u64,
    /// Warnings, and events of ports.
    pub warnings: Vec<WarningReport>,
}

/// A network that a process tried to use.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NetworkReport {
    /// `IB`, `Socket`, or the name of the plugin or its library.
    pub name: String,
    /// `chosen`, `failed`, `missing` or `tried`.
    pub outcome: &'static str,
    /// Reason, in the words of the log.
    pub reason: Option<String>,
    /// The log line.
    pub line: Option<LineReport>,
}

/// aws-ofi-nccl.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OfiReport {
    /// Its release.
    pub version: Option<String>,
    /// Libfabric's release.
    pub libfabric_version: Option<String>,
    /// `RDMA` or `SENDRECV`.
    pub protocol: Option<String>,
    /// The selected provider.
    pub provider: Option<String>,
}

/// A plugin that NCCL looked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PluginReport {
    /// `TUNER`, `PROFILER`, `GIN`, `RMA` or `ENV`.
    pub area: String,
    /// Name of the plugin, or of its library.
    pub name: String,
    /// Whether it was found and loaded.
    pub loaded: bool,
}

/// A port of an HCA.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HcaReport {
    /// Device name.
    pub device: String,
    /// Port number.
    pub port: u32,
    /// `RoCE` or `IB`.
    pub link_layer: String,
    /// Speed in bits per second.
    pub speed_bps: Option<u64>,
    /// Adaptive routing is on: the fabric may reorder its packets.
    pub adaptive_routing: Option<bool>,
    /// GPUDirect RDMA: it reads and writes GPU memory.
    pub gpu_direct: Option<bool>,
}

/// A rank of a communicator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogRankReport {
    /// `id` of the communicator.
    pub communicator: Option<String>,
    /// Rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// Nodes of the communicator.
    pub nodes: Option<u32>,
    /// Ranks on this node.
    pub local_ranks: Option<u32>,
    /// Channels of rings and trees.
    pub channels: Option<u32>,
    /// Whether initialisation completed.
    pub initialized: bool,
    /// Connected rings and trees.
    pub connected: Vec<String>,
    /// How it ended: `destroyed` or `aborted`; `null` if it did not.
    pub end: Option<&'static str>,
    /// Duration of the bootstrap, with its parts `create`, `send`, `recv` (waiting for the root,
    /// hence for the last rank to check in), `ring`, `delay`.
    pub bootstrap: Option<TimingReport>,
    /// Duration of the whole initialisation.
    pub init: Option<TimingReport>,
    /// Edges that the rank printed, by transport.
    pub edges: BTreeMap<String, u64>,
    /// Number of calls of collectives.
    pub calls: u64,
    /// NCCL's choices for them.
    pub choices: Vec<ChoiceReport>,
}

/// Duration, in total and by part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimingReport {
    /// Total nanoseconds.
    pub total_ns: u64,
    /// Nanoseconds by part.
    pub parts_ns: BTreeMap<String, u64>,
    /// The log line.
    pub line: Option<LineReport>,
}

/// NCCL's choice for a collective.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChoiceReport {
    /// The collective; `null` if the line does not name it.
    pub kind: Option<&'static str>,
    /// Size of the collective, as NCCL printed it.
    pub bytes: u64,
    /// `ring`, `tree` or `unknown`.
    pub algorithm: &'static str,
    /// `simple`, `ll`, `ll128` or `unknown`.
    pub protocol: &'static str,
    /// First and last channel.
    pub channels: Option<(u32, u32)>,
    /// Number of times.
    pub count: u64,
}

/// A warning that NCCL printed, or an event of a port.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WarningReport {
    /// Text of the warning.
    pub text: String,
    /// `retry_exceeded`, `work_request`, `port`, `control_plane`, `mismatch`, `plugin`, `library`,
    /// `topology`, `cuda`, `memory`, `usage` or `other`.
    pub cause: &'static str,
    /// File or function that warned, with line.
    pub origin: Option<String>,
    /// Time printed with the first one, in the host's time zone.
    pub local_time: Option<String>,
    /// Number of times.
    pub count: u64,
    /// The first one.
    pub line: Option<LineReport>,
}

/// Unknown lines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnparsedReport {
    /// Their first words.
    pub words: String,
    /// Number of lines that begin so.
    pub count: u64,
    /// The first one.
    pub line: Option<LineReport>,
}

/// What the logs say.
pub(super) fn section(sources: &Sources<'_>) -> LogsReport {
    let facts = &sources.state.logs;
    let processes = facts.processes.iter().enumerate();
    let files = (0..).map(LogId).zip(&facts.files).map(|(id, file)| LogFileReport {
        file: file.name.clone(),
        lines: file.lines,
        nccl_entries: file.entries,
        other_lines: file.job_lines,
        output_lines: sources.state.output_lines.get(&id).copied().unwrap_or(0),
    });
    let unparsed = facts.unparsed.iter().map(|(words, unparsed)| UnparsedReport {
        words: words.clone(),
        count: unparsed.count,
        line: line(sources, unparsed.first),
    });
    LogsReport {
        files: files.collect(),
        processes: processes.map(|(at, process)| process_report(sources, at, process)).collect(),
        unparsed: unparsed.collect(),
    }
}

fn process_report(sources: &Sources<'_>, at: usize, process: &Process) -> LogProcessReport {
    let name = |place: usize| {
        let id = sources.state.memberships.get(&(at, place))?;
        sources.state.job.as_ref()?.name_of(*id)
    };
    let members = process.memberships.iter().enumerate();
    let ofi = &process.ofi;
    let ofi = ofi.release.is_some().then(|| OfiReport {
        version: ofi.release.clone(),
        libfabric_version: ofi.libfabric.clone(),
        protocol: ofi.protocol.clone(),
        provider: ofi.provider.clone(),
    });
    let plugins = process.plugins.iter().map(|((area, name), loaded)| PluginReport {
        area: area.clone(),
        name: name.clone(),
        loaded: *loaded,
    });
    LogProcessReport {
        host: process.host.clone(),
        pid: process.pid,
        nccl_version: process.release.map(|release| release.to_string()),
        entries: process.lines,
        first_line: line(sources, process.first),
        interface: process.bootstrap.as_ref().map(|(name, _)| name.clone()),
        address: process.bootstrap.as_ref().and_then(|(_, ip)| ip.map(|ip| ip.to_string())),
        network: process.networks.chosen().map(str::to_owned),
        networks: process.networks.iter().map(|one| network_report(sources, one)).collect(),
        ofi,
        plugins: plugins.collect(),
        hcas: process.hcas.iter().map(hca_report).collect(),
        environment: process.environment.clone(),
        ranks: members.map(|(place, member)| rank_report(sources, name(place), member)).collect(),
        shared_edges: by_carrier(&process.shared_edges),
        queue_pairs: process.queue_pairs.len() as u64,
        warnings: process.warnings.iter().map(|one| warning_report(sources, one)).collect(),
    }
}

fn rank_report(
    sources: &Sources<'_>,
    communicator: Option<String>,
    member: &Membership,
) -> LogRankReport {
    let setup = &member.setup;
    let listed: BTreeSet<&u32> = setup.rings.keys().chain(setup.tree_places.keys()).collect();
    let listed = (!listed.is_empty()).then_some(listed.len() as u32);
    let choices = member.choices.iter().map(|(choice, count)| ChoiceReport {
        kind: choice.kind.map(CollectiveKind::name),
        bytes: choice.bytes,
        algorithm: choice.algorithm.name(),
        protocol: choice.protocol.name(),
        channels: choice.channels,
        count: *count,
    });
    LogRankReport {
        communicator,
        rank: member.rank,
        nranks: member.nranks,
        nodes: setup.summary.map(|summary| summary.nodes),
        local_ranks: setup.summary.map(|summary| summary.local_ranks),
        channels: setup.channels.map(|counts| counts.collective).or(listed),
        initialized: member.is_complete,
        connected: setup.connected.clone(),
        end: member.end.map(|end| if end.is_abort { "aborted" } else { "destroyed" }),
        bootstrap: setup.bootstrap.as_ref().map(|timing| timing_report(sources, timing)),
        init: setup.init.as_ref().map(|timing| timing_report(sources, timing)),
        edges: by_carrier(&setup.edges),
        calls: member.calls.len() as u64,
        choices: choices.collect(),
    }
}

fn network_report(sources: &Sources<'_>, attempt: &NetworkAttempt) -> NetworkReport {
    NetworkReport {
        name: attempt.name.clone(),
        outcome: attempt.outcome.name(),
        reason: attempt.reason.clone(),
        line: line(sources, attempt.witness),
    }
}

fn hca_report(hca: &HcaFact) -> HcaReport {
    HcaReport {
        device: hca.device.clone(),
        port: hca.port,
        link_layer: hca.link_layer.clone(),
        speed_bps: hca.speed_mbps.map(|speed| u64::from(speed) * 1_000_000),
        adaptive_routing: hca.is_adaptive,
        gpu_direct: hca.is_gpu_direct,
    }
}

fn timing_report(sources: &Sources<'_>, timing: &TimingFact) -> TimingReport {
    TimingReport {
        total_ns: timing.total_ns,
        parts_ns: timing.parts.iter().cloned().collect(),
        line: line(sources, timing.witness),
    }
}

fn warning_report(sources: &Sources<'_>, warning: &Warning) -> WarningReport {
    WarningReport {
        text: warning.text.clone(),
        cause: warning.cause.name(),
        origin: warning.source.as_ref().map(|(file, line)| format!("{file}:{line}")),
        local_time: warning.time.clone(),
        count: warning.count,
        line: line(sources, warning.first),
    }
}

fn by_carrier(edges: &[EdgeFact]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for edge in edges {
        *counts.entry(edge.via.clone()).or_insert(0) += 1;
    }
    counts
}

fn line(sources: &Sources<'_>, witness: Witness) -> Option<LineReport> {
    let Witness::Line { log, number } = witness else { return None };
    Some(LineReport { file: sources.log_name(log)?, line: number })
}
