//! The report: the JSON contract `railscope.report/1` as types, one file a section, and how each
//! section is made from state. The schema is generated from these types.
//!
//! Times (`*_ns`) are relative to `capture.origin_ns`; durations are plain. What cannot be known
//! from the input is `null`, never 0.

pub mod bursts;
pub mod capture;
pub mod collective_groups;
pub mod collectives;
pub mod communicators;
pub mod conflicts;
pub mod counters;
pub mod counts;
pub mod evidence;
pub mod findings;
pub mod flows;
mod health;
pub mod iterations;
pub mod labels;
pub mod logs;
pub mod messages;
pub mod news;
pub mod owner;
pub mod packets;
pub mod pfc;
pub mod phases;
pub mod places;
pub mod queue_pairs;
pub mod stragglers;
pub mod taps;
pub mod tcp_streams;
pub mod transfers;
pub mod waits;
pub mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::state::State;
use crate::analysis::understanding::Understanding;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;
use crate::model::witness::LogId;

/// Name and version of the contract.
pub const SCHEMA: &str = "railscope.report/1";

/// Everything that one run found out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Name and version of this contract: `railscope.report/1`.
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// The input as a whole.
    pub capture: capture::Capture,
    /// The observation points.
    pub taps: Vec<taps::TapReport>,
    /// The hosts behind the addresses.
    pub hosts: Vec<places::Host>,
    /// The ports: addresses that sent or received.
    pub ports: Vec<places::PortReport>,
    /// Flows: one direction between two hosts towards one queue pair, per tap and epoch.
    pub flows: Vec<flows::FlowReport>,
    /// Queue pairs: flows joined over taps with what comes back for them, the worst first.
    pub queue_pairs: Vec<queue_pairs::QueuePairReport>,
    /// TCP streams of the control plane.
    pub tcp_streams: Vec<tcp_streams::TcpStreamReport>,
    /// Pause per station and priority.
    pub pfc: Vec<pfc::PfcReport>,
    /// Bursts per port and direction; `null` when the line rate is unknown.
    pub bursts: Option<Vec<bursts::BurstReport>>,
    /// NCCL communicators.
    pub communicators: Vec<communicators::CommunicatorReport>,
    /// Statements about the job that contradict each other.
    pub conflicts: Vec<conflicts::ConflictReport>,
    /// Phases of the job.
    pub phases: Vec<phases::PhaseReport>,
    /// NCCL collectives.
    pub collectives: Vec<collectives::CollectiveReport>,
    /// Collectives by kind and size, those that took the most time in total first.
    pub collective_groups: Vec<collective_groups::CollectiveGroupReport>,
    /// Messages of collectives, one by one; `null` unless full detail is asked for.
    pub transfers: Option<Vec<transfers::TransferReport>>,
    /// CNPs and NAKs, one by one; `null` unless full detail is asked for.
    pub signals: Option<Vec<transfers::SignalReport>>,
    /// Training steps.
    pub iterations: Vec<iterations::IterationReport>,
    /// What training steps were labelled by: the anchor, then training logs.
    pub labels: Vec<labels::LabelReport>,
    /// NCCL's logs.
    pub logs: logs::LogsReport,
    /// What NIC counters were read.
    pub counters: Vec<counters::CounterReport>,
    /// What is wrong, and what to do about it.
    pub findings: Vec<findings::FindingReport>,
    /// What could not be looked for, and what is missing for it.
    pub findings_not_checked: Vec<findings::NotCheckedReport>,
    /// What was missed, refused or could not be known, by counter; counters at 0 are left out.
    #[schemars(schema_with = "health::schema")]
    pub health: BTreeMap<String, u64>,
}

/// What made a report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// railscope's version.
    pub version: String,
    /// Options that shaped the report, as given.
    pub options: BTreeMap<String, String>,
}

/// How much a report lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Counts and totals.
    #[default]
    Summary,
    /// Every episode as well.
    Full,
}

/// What a report is to have.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// Options that shaped the report, as given.
    pub options: BTreeMap<String, String>,
    /// What times are relative to: the first frame of the input, which may lie before the first
    /// that was handled. `None`: the earliest that was handled.
    pub origin: Option<Timestamp>,
    /// How much to list.
    pub detail: Detail,
}

/// What is shown, and what is derived from it once for all sections.
pub(crate) struct Sources<'a> {
    pub(crate) understanding: &'a Understanding,
    /// What that rests on.
    pub(crate) state: &'a State,
    pub(crate) context: &'a ReportContext,
    pub(crate) origin: Timestamp,
    /// `id` of each flow, by place in the flow table.
    pub(crate) flow_ids: Vec<u32>,
}

impl Sources<'_> {
    /// Nanoseconds from the capture's origin to `time`, which is aligned; negative where a clock
    /// went backwards, or was ahead of the one that it is aligned with.
    pub(crate) fn relative_ns(&self, time: Timestamp) -> i64 {
        time.relative_to(self.origin)
    }

    /// `time` by the clock of `tap`, aligned.
    pub(crate) fn aligned(&self, tap: TapId, time: Timestamp) -> Timestamp {
        self.state.aligned(tap, time)
    }

    /// The same from the capture's origin.
    pub(crate) fn aligned_ns(&self, tap: TapId, time: Timestamp) -> i64 {
        self.relative_ns(self.aligned(tap, time))
    }

    /// The name of a file of NIC counters.
    pub(crate) fn counter_file(&self, file: u32) -> Option<String> {
        self.state.counters.files.get(file as usize).cloned()
    }

    /// The name of a log file.
    pub(crate) fn log_name(&self, log: LogId) -> Option<String> {
        let file = self.state.logs.files.get(log.0 as usize)?;
        Some(file.name.clone())
    }
}

impl Report {
    /// The report of everything that was understood.
    #[must_use]
    pub fn new(understanding: &Understanding, context: &ReportContext) -> Self {
        let state = &understanding.state;
        let origin = context.origin.or(understanding.start()).unwrap_or(Timestamp::EPOCH);
        let flow_ids = flows::ids(state.tracker.flows());
        let sources = Sources { understanding, state, context, origin, flow_ids };
        let health = understanding.health.iter();
        Self {
            schema: SCHEMA.to_owned(),
            tool: Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                options: context.options.clone(),
            },
            capture: capture::section(&sources),
            taps: taps::section(&sources),
            hosts: places::hosts(&sources),
            ports: places::ports(&sources),
            flows: flows::section(&sources),
            queue_pairs: queue_pairs::section(&sources),
            tcp_streams: tcp_streams::section(&sources),
            pfc: pfc::section(&sources),
            bursts: bursts::section(&sources),
            communicators: communicators::section(&sources),
            conflicts: conflicts::section(&sources),
            phases: phases::section(&sources),
            collectives: collectives::section(&sources),
            collective_groups: collective_groups::section(&sources),
            transfers: transfers::section(&sources),
            signals: transfers::signals(&sources, &flows::ids_by_key(&sources)),
            iterations: iterations::section(&sources),
            labels: labels::section(&sources),
            logs: logs::section(&sources),
            counters: counters::section(&sources),
            findings: findings::section(&sources),
            findings_not_checked: findings::not_checked(&sources),
            health: health.map(|(event, count)| (event.name().to_owned(), count)).collect(),
        }
    }

    /// The flow with this `id`.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<&flows::FlowReport> {
        let at = self.flows.binary_search_by_key(&id, |flow| flow.id).ok()?;
        self.flows.get(at)
    }

    /// The JSON Schema (draft 2020-12) of the contract.
    #[must_use]
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }
}
