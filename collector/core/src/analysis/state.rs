//! Everything that the earlier layers know about a job: the input of the analysis.

use std::collections::{BTreeMap, BTreeSet};

use super::iteration::label::LabelSources;
use super::iteration::numbering::Numbering;
use super::proxy::ProcessRecords;
use super::roll_call::RollCall;
use crate::decode::tool::Output;
use crate::flow::sampled::SampledAgents;
use crate::flow::state::Flow;
use crate::flow::tcp_stream::attempt::Attempts;
use crate::flow::tcp_stream::farewell::Farewells;
use crate::flow::tracker::FlowTracker;
use crate::link::clock::clocks::Clocks;
use crate::link::clock::timeline;
use crate::link::control::facts::StreamFacts;
use crate::link::counter::Counters;
use crate::link::counter::join::PortNames;
use crate::link::job::{CommunicatorId, Job};
use crate::link::log::LogFacts;
use crate::link::position::{Position, TapPosition};
use crate::link::rail::Rails;
use crate::link::tool::Found;
use crate::link::tool::node::Node;
use crate::link::tool::switch::Switch;
use crate::link::traffic::record::{ResendRecord, SignalRecord};
use crate::model::benchmark::Benchmark;
use crate::model::health::Health;
use crate::model::tap::{HostName, TapId};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::{LogId, Witness};

/// The state of all layers before, finished.
#[derive(Clone)]
pub struct State {
    /// Taps, flows, ports and pause. Its times are each tap's own; all others here are aligned.
    pub tracker: FlowTracker,
    /// Places of its flows, those of one flow at several taps side by side.
    over_taps: Vec<u32>,
    /// What switches sampled.
    pub sampled: SampledAgents,
    /// Where the taps are.
    pub positions: Vec<TapPosition>,
    /// The clocks of the taps.
    pub clocks: Clocks,
    /// Communicators, connections and owners of flows; `None` if nothing was to be linked.
    pub job: Option<Job>,
    /// TCP connections of the control plane.
    pub streams: Vec<StreamFacts>,
    /// CNPs and NAKs in the order in which they passed.
    pub signals: Vec<SignalRecord>,
    /// The time of the last one kept, if some were dropped.
    pub signals_end: Option<Timestamp>,
    /// Retransmitted packets in the order in which they passed; `None` if not all could be kept.
    pub resends: Option<Vec<ResendRecord>>,
    /// There were more NCCL messages than could be kept.
    pub are_messages_missing: bool,
    /// TCP connections that were asked for.
    pub attempts: Attempts,
    /// Ends of TCP connections.
    pub farewells: Farewells,
    /// NCCL's logs.
    pub logs: LogFacts,
    /// Outputs of other tools in the logs.
    pub outputs: Vec<Found>,
    /// Lines of these outputs, by file.
    pub output_lines: BTreeMap<LogId, u64>,
    /// Files with lines of a dump of PyTorch's flight recorder.
    pub excerpts: BTreeSet<LogId>,
    /// The nodes that they describe.
    pub nodes: Vec<Node>,
    /// The switches that they describe.
    pub switches: Vec<Switch>,
    /// The communicator of each membership in the logs: by place of process and membership.
    pub memberships: BTreeMap<(usize, usize), CommunicatorId>,
    /// NIC counters.
    pub counters: Counters,
    /// Names of hosts and devices by address.
    pub names: PortNames,
    /// Names that captures give to addresses.
    pub host_names: Vec<HostName>,
    /// Which rail a port is on.
    pub rails: Rails,
    /// What processes recorded of their own calls.
    pub roll_call: RollCall,
    /// What NCCL's profiler plugin recorded, one a process.
    pub proxies: Vec<ProcessRecords>,
    /// What labels training steps.
    pub labels: LabelSources,
    /// Numbers that training steps have already.
    pub numbering: Numbering,
    /// Health counters so far.
    pub health: Health,
}

impl State {
    /// Only flows: nothing linked, no logs, no counters.
    #[must_use]
    pub fn new(tracker: FlowTracker) -> Self {
        Self {
            over_taps: tracker.flows().over_taps(),
            tracker,
            sampled: SampledAgents::default(),
            positions: Vec::new(),
            clocks: Clocks::default(),
            job: None,
            streams: Vec::new(),
            signals: Vec::new(),
            signals_end: None,
            resends: None,
            are_messages_missing: false,
            attempts: Attempts::default(),
            farewells: Farewells::default(),
            logs: LogFacts::default(),
            outputs: Vec::new(),
            output_lines: BTreeMap::new(),
            excerpts: BTreeSet::new(),
            nodes: Vec::new(),
            switches: Vec::new(),
            memberships: BTreeMap::new(),
            counters: Counters::default(),
            names: PortNames::default(),
            host_names: Vec::new(),
            rails: Rails::default(),
            roll_call: RollCall::default(),
            proxies: Vec::new(),
            labels: LabelSources::default(),
            numbering: Numbering::default(),
            health: Health::default(),
        }
    }

    /// Tables of benchmarks, with where they stand.
    pub fn benchmarks(&self) -> impl Iterator<Item = (&Found, &Benchmark)> {
        self.outputs.iter().filter_map(|found| match &found.output {
            Output::Benchmark(table) => Some((found, table)),
            _ => None,
        })
    }

    /// The flows by source, destination, QPN and epoch: the places of each one's views, one a tap.
    pub fn flows_over_taps(&self) -> impl Iterator<Item = &[u32]> {
        let flows = self.tracker.flows();
        let is_same =
            |one: &u32, other: &u32| flows.at(*one).identity() == flows.at(*other).identity();
        self.over_taps.chunk_by(is_same)
    }

    /// `time` by the clock of `tap`, aligned.
    #[must_use]
    pub fn aligned(&self, tap: TapId, time: Timestamp) -> Timestamp {
        self.clocks.aligned(tap, time)
    }

    /// When the last frame of `tap` passed, aligned; `None` without any.
    #[must_use]
    pub fn last_frame(&self, tap: TapId) -> Option<Timestamp> {
        Some(self.aligned(tap, self.tracker.tap(tap)?.span?.last))
    }

    /// First and last frame of a flow at its tap, aligned.
    #[must_use]
    pub fn aligned_span(&self, flow: &Flow) -> Span {
        timeline::aligned_span(flow.span, flow.key.tap, &self.clocks)
    }

    /// Where the tap of `flow` stands on its way.
    #[must_use]
    pub fn position(&self, flow: &Flow) -> Position {
        let position = self.positions.get(flow.key.tap.0 as usize);
        position
            .map_or(Position::Unknown, |tap| tap.for_flow(flow.key.source, flow.key.destination))
    }

    /// A frame of `tap`, which saw it at `time` by its own clock.
    #[must_use]
    pub fn frame(&self, tap: TapId, number: u64, time: Timestamp) -> Witness {
        Witness::Frame { tap, number, time: self.aligned(tap, time) }
    }

    /// Flows or messages were dropped because tables were full, so missing traffic may be
    /// railscope's own loss.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.are_messages_missing || self.tracker.flows().evicted_flows() > 0
    }
}
