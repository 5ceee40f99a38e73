//! The report: the JSON contract `railscope.report/1` as types, one file per section, each a
//! projection of [`Understanding`]. The schema is generated from these types.
//!
//! Times and durations (`*_ns`) are in nanoseconds; times are relative to `capture.origin_ns`. What
//! the input cannot show is `null`, never 0.

pub mod benchmarks;
pub mod bursts;
pub mod call_records;
pub mod capture;
pub mod collective_groups;
pub mod collectives;
pub mod communicators;
pub mod congestion;
pub mod conflicts;
mod context;
pub mod counters;
pub mod counts;
pub mod evidence;
pub mod fabric;
pub mod findings;
mod flow_ids;
pub mod flows;
pub mod hangs;
pub mod inputs;
mod health;
pub mod iterations;
pub mod labels;
pub mod late_ranks;
pub mod logs;
pub mod messages;
pub mod news;
pub mod owner;
pub mod nodes;
pub mod packets;
pub mod pfc;
pub mod phases;
pub mod places;
pub mod processes;
pub mod profiles;
pub mod queue_pairs;
pub mod sampled;
mod sources;
pub mod stragglers;
pub mod switches;
pub mod taps;
pub mod tcp_streams;
pub mod training_jobs;
pub mod transfers;
pub mod unlinked;
pub mod verdicts;
pub mod waits;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

pub use self::context::{Detail, ReportContext};
use self::sources::Sources;
use crate::analysis::understanding::Understanding;

/// Name and version of the contract.
pub const SCHEMA: &str = "railscope.report/1";

/// The report of one run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct Report<F = Vec<flows::FlowReport>, Q = Vec<queue_pairs::QueuePairReport>> {
    /// Name and version of this contract: `railscope.report/1`.
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The input as a whole.
    pub capture: capture::Capture,
    /// The files that it was made from.
    pub inputs: Vec<inputs::InputReport>,
    /// The observation points.
    pub taps: Vec<taps::TapReport>,
    /// The hosts behind the addresses.
    pub hosts: Vec<places::Host>,
    /// The ports: addresses that send or receive.
    pub ports: Vec<places::PortReport>,
    /// Flows: one direction between two hosts towards one queue pair, per tap and epoch.
    pub flows: F,
    /// Queue pairs, the worst first: flows joined over taps, with the answers to them.
    pub queue_pairs: Q,
    /// How many there are, listed or not.
    #[serde(skip)]
    pub queue_pair_tallies: queue_pairs::QueuePairTallies,
    /// Flows whose ranks are unknown or incomplete, by reason, that of most payload first.
    pub unlinked: Vec<unlinked::UnlinkedReport>,
    /// TCP streams of the control plane.
    pub tcp_streams: Vec<tcp_streams::TcpStreamReport>,
    /// Pause per station and priority.
    pub pfc: Vec<pfc::PfcReport>,
    /// Bursts per port and direction; `null` if the line rate is unknown.
    pub bursts: Option<Vec<bursts::BurstReport>>,
    /// Congestion signals by receiving port, that with most CE marks first.
    pub congestion: Vec<congestion::CongestionReport>,
    /// What switches sampled (sFlow), one a switch, or a part of it that counts by itself. Sampled packets are
    /// in no other section.
    pub sampled: Vec<sampled::SampledReport>,
    /// NCCL communicators.
    pub communicators: Vec<communicators::CommunicatorReport>,
    /// Contradictory statements about the job.
    pub conflicts: Vec<conflicts::ConflictReport>,
    /// Phases of the job.
    pub phases: Vec<phases::PhaseReport>,
    /// NCCL collectives.
    pub collectives: Vec<collectives::CollectiveReport>,
    /// Collectives grouped by kind and size, the longest total time first.
    pub collective_groups: Vec<collective_groups::CollectiveGroupReport>,
    /// Ranks that others waited for, the one that cost most first.
    pub late_ranks: Vec<late_ranks::LateRankReport>,
    /// Messages of collectives, one by one; `null` without full detail.
    pub transfers: Option<Vec<transfers::TransferReport>>,
    /// CNPs and NAKs, one by one; `null` without full detail.
    pub signals: Option<Vec<transfers::SignalReport>>,
    /// Training steps.
    pub iterations: Vec<iterations::IterationReport>,
    /// Training steps by job, that with the earliest one first.
    pub training_jobs: Vec<training_jobs::TrainingJobReport>,
    /// Sources of the training steps' labels: the anchor, then training logs.
    pub labels: Vec<labels::LabelReport>,
    /// NCCL's logs.
    pub logs: logs::LogsReport,
    /// What processes recorded of their own calls.
    pub call_records: call_records::CallRecordsReport,
    /// Nodes, as outputs of other tools describe them.
    pub nodes: Vec<nodes::NodeReport>,
    /// Switches, as their `show` commands describe them.
    pub switches: Vec<switches::SwitchReport>,
    /// Tables of nccl-tests.
    pub benchmarks: Vec<benchmarks::BenchmarkReport>,
    /// Collectives that NCCL Inspector measured.
    pub inspector: Vec<benchmarks::InspectorReport>,
    /// NIC counters.
    pub counters: Vec<counters::CounterReport>,
    /// The causes of what was found, the costliest first.
    pub verdicts: Vec<verdicts::VerdictReport>,
    /// What is wrong, and what to do about it.
    pub findings: Vec<findings::FindingReport>,
    /// Findings that were not checked, and what is missing for them.
    pub findings_not_checked: Vec<findings::NotCheckedReport>,
    /// What was missed, refused or unknown, by counter; counters at 0 are left out.
    #[schemars(schema_with = "health::schema")]
    pub health: BTreeMap<String, u64>,
}

/// The program that made a report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// railscope's version.
    pub version: String,
    /// Options that shaped the report.
    pub options: BTreeMap<String, String>,
    /// Queue pair numbers that the report is restricted to, as in the option `qpn`; empty for all.
    pub qpns: Vec<u32>,
}

impl Report {
    /// Projects `understanding`.
    #[must_use]
    pub fn new(understanding: &Understanding, context: &ReportContext) -> Self {
        let sources = Sources::new(understanding, context);
        let lists_flows = context.only_worst.is_none();
        let flows = if lists_flows { flows::rows(&sources).collect() } else { Vec::new() };
        let listed = context.only_worst.unwrap_or(usize::MAX);
        let queue_pairs = queue_pairs::rows(&sources).take(listed).collect();
        Self::of(&sources, flows, queue_pairs)
    }
}

/// A report whose flows and queue pairs are made one by one as they are written: of a hundred thousand queue
/// pairs, that saves more than half of the memory.
pub type StreamedReport<'a> = Report<flows::Rows<'a>, queue_pairs::Rows<'a>>;

impl StreamedReport<'_> {
    /// Projects `understanding`, and hands the report to `write`. It is written as [`Report::new`] would be.
    pub fn stream<T>(
        understanding: &Understanding,
        context: &ReportContext,
        write: impl FnOnce(&StreamedReport<'_>) -> T,
    ) -> T {
        let sources = Sources::new(understanding, context);
        let (flows, queue_pairs) = (flows::Rows(&sources), queue_pairs::Rows(&sources));
        write(&Report::of(&sources, flows, queue_pairs))
    }
}

impl<F, Q> Report<F, Q> {
    /// All sections, with these flows and queue pairs.
    fn of(sources: &Sources<'_>, flows: F, queue_pairs: Q) -> Self {
        let Sources { understanding, context, .. } = sources;
        let health = understanding.health.iter();
        Self {
            schema: SCHEMA.to_owned(),
            tool: Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                options: context.options.clone(),
                qpns: context.qpns.clone(),
            },
            capture: capture::section(sources),
            taps: taps::section(sources),
            hosts: places::hosts(sources),
            ports: places::ports(sources),
            flows,
            queue_pairs,
            queue_pair_tallies: queue_pairs::tallies(sources),
            unlinked: unlinked::section(sources),
            tcp_streams: tcp_streams::section(sources),
            pfc: pfc::section(sources),
            bursts: bursts::section(sources),
            congestion: congestion::section(sources),
            sampled: sampled::section(sources),
            communicators: communicators::section(sources),
            conflicts: conflicts::section(sources),
            phases: phases::section(sources),
            collectives: collectives::section(sources),
            collective_groups: collective_groups::section(sources),
            late_ranks: late_ranks::section(sources),
            transfers: transfers::section(sources),
            signals: transfers::signals(sources),
            iterations: iterations::section(sources),
            training_jobs: training_jobs::section(sources),
            labels: labels::section(sources),
            logs: logs::section(sources),
            inputs: inputs::section(sources),
            call_records: call_records::section(sources),
            nodes: nodes::section(sources),
            switches: switches::section(sources),
            benchmarks: benchmarks::section(sources),
            inspector: benchmarks::inspector(sources),
            counters: counters::section(sources),
            verdicts: verdicts::section(sources),
            findings: findings::section(sources),
            findings_not_checked: findings::not_checked(sources),
            health: health.map(|(event, count)| (event.name().to_owned(), count)).collect(),
        }
    }
}

impl Report {
    /// Looks up a flow; `None` if the report has no flow with this `id`.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<&flows::FlowReport> {
        let at = self.flows.binary_search_by_key(&id, |flow| flow.id).ok()?;
        self.flows.get(at)
    }

    /// Leaves only findings about the queue pairs of these flows and about no flow in particular, and
    /// verdicts with at least one of their findings left. Returns how many verdicts it took away.
    pub fn restrict_findings(&mut self, flows: &BTreeSet<u32>) -> usize {
        // A NAK is a packet of one direction and says something of the other.
        let has_one =
            |one: &&queue_pairs::QueuePairReport| one.flows.iter().any(|flow| flows.contains(flow));
        let shown = self.queue_pairs.iter().filter(has_one);
        let flows: BTreeSet<u32> = shown.flat_map(|one| one.flows.iter().copied()).collect();
        let all = self.verdicts.len();
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut left = 0;
        for finding in &self.findings {
            let is_left = finding.concerns_any(&flows);
            places.push(is_left.then_some(left));
            left += usize::from(is_left);
        }
        self.findings.retain(|finding| finding.concerns_any(&flows));
        let place = |at: &usize| places.get(*at).copied().flatten();
        let mut kept = Vec::new();
        self.verdicts = std::mem::take(&mut self.verdicts)
            .into_iter()
            .enumerate()
            .filter_map(|(at, mut verdict)| {
                let had_some = !verdict.findings.is_empty();
                verdict.findings = verdict.findings.iter().filter_map(place).collect();
                verdict.explains = verdict.explains.iter().filter_map(place).collect();
                let is_left = !had_some || !verdict.findings.is_empty();
                is_left.then(|| {
                    kept.push(at);
                    verdict
                })
            })
            .collect();
        for finding in &mut self.findings {
            finding.explained_by = finding.explained_by.and_then(|at| kept.binary_search(&at).ok());
        }
        all - self.verdicts.len()
    }

    /// The JSON Schema (draft 2020-12) of the contract.
    #[must_use]
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }
}
