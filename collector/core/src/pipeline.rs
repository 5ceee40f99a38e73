//! Composes the layers: frames and lines in, a report out. It reads no clock, file or environment,
//! so a replay, a live capture and a test give the same report for the same frames.
//!
//! Live traffic is analysed in a window (`window`), which forgets old messages.

pub mod lane;
mod window;

use lane::{Lane, Records};

use crate::analysis::finding;
use crate::analysis::iteration::label::{Anchor, LabelSources};
use crate::analysis::iteration::numbering::Numbering;
use crate::analysis::iteration::train_log::TrainLog;
use crate::analysis::proxy::{LiveProfiles, ProcessRecords, repeated};
use crate::analysis::roll_call::{RankDump, RollCall, Unused, WhyUnused};
use crate::analysis::state::State;
use crate::analysis::understanding::{Understanding, understand};
use crate::decode::frame;
use crate::decode::packet::{Body, Packet};
use crate::decode::ras::RasStatus;
use crate::flow::sampled::SampledAgents;
use crate::flow::tcp_stream::attempt::Attempts;
use crate::flow::tcp_stream::farewell::Farewells;
use crate::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use crate::flow::tracker::{FlowConfig, FlowTracker, MessageEvent};
use crate::link::clock::relate;
use crate::link::clock::timeline;
use crate::link::connect::Traffic;
use crate::link::control::plane::{ControlConfig, ControlPlane};
use crate::link::counter::CounterTracker;
use crate::link::counter::join::PortNames;
use crate::link::job::Job;
use crate::link::join;
use crate::link::linker;
use crate::link::log::LogTracker;
use crate::link::position;
use crate::link::process::ProcessTracker;
use crate::link::rail::{RailMap, Rails};
use crate::link::tool::{ToolTracker, node, switch};
use crate::model::counter::CounterSample;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::run::Run;
use crate::model::tap::{HostName, Tap, TapId};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::LogId;
use crate::report::{Report, ReportContext};

/// Everything known so far.
///
/// Call [`add_tap`](Self::add_tap) before the first frame of a tap,
/// [`handle_frame`](Self::handle_frame) in order of time (per tap: in order of capture),
/// [`report`](Self::report) for a report on the way, and [`finish`](Self::finish) once.
#[derive(Clone)]
pub struct Pipeline {
    lane: Lane,
    sampled: SampledAgents,
    /// `None` if nothing is to be linked.
    linking: Option<Linking>,
    logs: LogTracker,
    tools: ToolTracker,
    labels: LabelSources,
    roll_call: RollCall,
    proxies: Vec<ProcessRecords>,
    profiles: LiveProfiles,
    counters: CounterTracker,
    processes: ProcessTracker,
    settings: Settings,
    numbering: Numbering,
    flow: FlowConfig,
    message_capacity: Option<usize>,
    host_names: Vec<HostName>,
    health: Health,
}

/// Default number of NCCL messages kept: at 72 bytes each, about 75 MB.
pub const MESSAGE_CAPACITY: u32 = 1 << 20;

/// Captures that make limits of connections rise.
const CAPTURES_ALLOWED_FOR: usize = 64;

/// Limits and options of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct PipelineConfig {
    /// Limits of the flow layer.
    pub flow: FlowConfig,
    /// NCCL messages kept for linking; `None` to track flows only.
    pub message_capacity: Option<usize>,
}

/// The user's settings for the analysis.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Which findings to check, and expected values.
    pub findings: finding::settings::Settings,
    /// Rail of each port; `None` to detect it.
    pub rails: Option<RailMap>,
}

/// Everything that was handled, analysed.
pub struct Analysed {
    /// What it means.
    pub understanding: Understanding,
    /// The same, as the JSON contract represents it.
    pub report: Report,
}

/// What links flows to ranks, besides what the lane records.
#[derive(Clone)]
struct Linking {
    streams: TcpStreams,
    control: ControlPlane,
    attempts: Attempts,
    farewells: Farewells,
}

/// Most host names kept.
const HOST_NAME_CAPACITY: usize = 65_536;

impl Pipeline {
    /// An empty pipeline.
    #[must_use]
    pub fn new(config: PipelineConfig) -> Self {
        let PipelineConfig { flow, message_capacity } = config;
        let linking = message_capacity.map(|_| Linking {
            streams: TcpStreams::new(TcpConfig::default()),
            control: ControlPlane::new(ControlConfig::default()),
            attempts: Attempts::default(),
            farewells: Farewells::default(),
        });
        Self {
            lane: Lane::new(flow, message_capacity, None),
            sampled: SampledAgents::default(),
            linking,
            logs: LogTracker::default(),
            tools: ToolTracker::default(),
            labels: LabelSources::default(),
            roll_call: RollCall::default(),
            proxies: Vec::new(),
            profiles: LiveProfiles::default(),
            counters: CounterTracker::default(),
            processes: ProcessTracker::default(),
            settings: Settings::default(),
            numbering: Numbering::default(),
            flow,
            message_capacity,
            host_names: Vec::new(),
            health: Health::default(),
        }
    }

    /// Sets the user's settings.
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Multiplies the limits of connections, which hold for all captures together, by the number of captures, 64 at
    /// most. Call it once, before the first frame.
    pub fn allow_for(&mut self, captures: usize) {
        let captures = captures.clamp(1, CAPTURES_ALLOWED_FOR);
        if let Some(linking) = &mut self.linking {
            linking.streams.allow_for(captures);
            linking.control.allow_for(captures);
        }
    }

    /// Adds the next tap; taps are numbered from 0.
    pub fn add_tap(&mut self, tap: Tap) {
        self.lane.add_tap(tap);
    }

    /// Adds a host name that a capture has for an address.
    pub fn add_host_name(&mut self, name: HostName) {
        if self.host_names.len() < HOST_NAME_CAPACITY {
            self.host_names.push(name);
        } else {
            self.health.add(HealthEvent::CaptureHostNamesDropped, 1);
        }
    }

    /// Counts frames of a tap that the source lost.
    pub fn add_lost_frames(&mut self, tap: TapId, frames: u64) {
        self.lane.add_lost_frames(tap, frames);
    }

    /// Notes that no other frame passed a tap until then: silence is news, too.
    pub fn observe_until(&mut self, tap: TapId, time: Timestamp) {
        self.lane.observe_until(tap, time);
    }

    /// Counts what was missed before frames reached the pipeline.
    pub fn add_health(&mut self, event: HealthEvent, count: u64) {
        self.health.add(event, count);
    }

    /// Processes the next frame.
    #[inline]
    pub fn handle_frame(&mut self, frame: &Frame<'_>) {
        frame::decode_with(frame, |packet| self.observe(frame, packet));
    }

    /// Processes packets counted in the kernel, then the next frame of their flow.
    pub fn handle_run(&mut self, run: &Run, frame: &Frame<'_>) {
        frame::decode_with(frame, |packet| {
            self.lane.observe_run(run, frame, packet);
            self.observe(frame, packet);
        });
    }

    #[inline]
    fn observe(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        self.lane.observe(frame, packet);
        if lane::is_shared(packet) {
            self.observe_shared(frame, packet);
        }
    }

    fn observe_shared(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        match (&packet.body, &packet.ip, &mut self.linking) {
            (Body::Sflow(_), _, _) => self.sampled.observe(frame, packet),
            (Body::Tcp(segment), Some(ip), Some(linking)) => {
                let Linking { streams, control, attempts, farewells } = linking;
                attempts.observe(frame, ip.source, ip.destination, segment);
                farewells.observe(frame, ip.source, ip.destination, segment);
                streams.observe(frame, ip.source, ip.destination, segment, control);
            }
            _ => {}
        }
    }

    /// Adds the next NCCL log; logs are numbered from 0.
    pub fn add_log(&mut self, name: impl Into<String>) -> LogId {
        self.logs.add_log(name)
    }

    /// Processes the next line of a log, with or without its line end; `number` counts from 1.
    /// Lines come in the order of their log, logs and frames in any order. Returns whether the line is
    /// known: NCCL's, of another program that reports trouble, or of a tool's output.
    pub fn handle_log_line(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        self.logs.observe(log, number, line) || self.tools.observe(log, number, line)
    }

    /// Adds the flight recorder's dump of a rank.
    pub fn add_dump(&mut self, dump: RankDump) {
        self.roll_call.dumps.push(dump);
    }

    /// Notes that a record could not be read, and why; of a dump, `rank` is the one that its name says.
    pub fn add_unread_record(&mut self, file: String, rank: Option<u32>, why: String) {
        let source = if rank.is_some() { "flight_recorder" } else { "ras" };
        self.roll_call.unused.push(Unused { file, source, rank, why: WhyUnused::Unread(why) });
        self.health.add(HealthEvent::CallRecordFileProblems, 1);
    }

    /// Notes a file of NCCL's profiler plugin that could not be read or is not used, and why.
    pub fn add_unread_profile(&mut self, file: String, why: String) {
        let why = WhyUnused::Unread(why);
        self.roll_call.unused.push(Unused { file, source: "profiler", rank: None, why });
        self.health.add(HealthEvent::CallRecordFileProblems, 1);
    }

    /// Adds an answer of RAS; answers come in order of time, and the latest two are kept.
    pub fn add_ras_status(&mut self, file: impl Into<String>, status: RasStatus) {
        let statuses = &mut self.roll_call.statuses;
        statuses.push((file.into(), status));
        statuses.drain(..statuses.len().saturating_sub(2));
    }

    /// Adds what NCCL's profiler plugin recorded in a process.
    ///
    /// # Errors
    /// The same was given before, in the file of this name.
    pub fn add_proxy_records(&mut self, records: ProcessRecords) -> Result<(), String> {
        if let Some(known) = repeated(&self.proxies, &records) {
            return Err(known.file.clone());
        }
        self.proxies.push(records);
        Ok(())
    }

    /// What the profiler plugin records in running processes.
    pub fn profiles_mut(&mut self) -> &mut LiveProfiles {
        &mut self.profiles
    }

    /// What running processes recorded.
    #[must_use]
    pub const fn profiles(&self) -> &LiveProfiles {
        &self.profiles
    }

    /// Drops the answers of RAS.
    pub fn forget_ras_statuses(&mut self) {
        self.roll_call.statuses.clear();
    }

    /// Sets the number of the training step that runs at a given time.
    pub fn set_anchor(&mut self, anchor: Option<Anchor>) {
        self.labels.anchor = anchor;
    }

    /// Sets how many nanoseconds the clocks of training logs are ahead of UTC.
    pub fn set_train_log_zone(&mut self, zone_ns: Option<i64>) {
        self.labels.zone_ns = zone_ns;
    }

    /// Adds the next training log; they are numbered from 0.
    pub fn add_train_log(&mut self, name: impl Into<String>) -> LogId {
        self.labels.logs.push(TrainLog::new(name));
        LogId(self.labels.logs.len() as u32 - 1)
    }

    /// Processes the next line of a training log, with or without its line end; `number` counts
    /// from 1. Returns whether a known framework wrote it.
    pub fn handle_train_log_line(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        let log = self.labels.logs.get_mut(log.0 as usize);
        log.is_some_and(|log| log.observe(number, line))
    }

    /// Adds the next file of NIC counters; files are numbered from 0.
    pub fn add_counters(&mut self, name: impl Into<String>) -> u32 {
        self.counters.add_file(name)
    }

    /// Processes the next line of a file of NIC counters; `number` counts from 1. Lines of one
    /// counter come in order of time, files of different counters and frames in any order. Returns
    /// whether the line has a sample.
    pub fn handle_counter_line(&mut self, file: u32, number: u64, line: &[u8]) -> bool {
        self.counters.observe(file, number, line)
    }

    /// Processes the next sample of a live source of NIC counters, which
    /// [`add_counters`](Self::add_counters) added as a file; `number` counts from 1. Samples of one
    /// NIC come in order of time.
    pub fn handle_counter_sample(&mut self, file: u32, number: u64, sample: &CounterSample<'_>) {
        self.counters.observe_sample(file, number, sample);
    }

    /// Tracker of this host's processes; it takes calls and connections of each process in order of
    /// time.
    pub fn processes_mut(&mut self) -> &mut ProcessTracker {
        &mut self.processes
    }

    /// What this host's processes did.
    #[must_use]
    pub const fn processes(&self) -> &ProcessTracker {
        &self.processes
    }

    /// Begins an interval, once a copy for a report was made: metrics show peaks of the last two.
    pub fn begin_interval(&mut self) {
        self.lane.tracker.begin_interval();
    }

    /// Flows and ports.
    #[must_use]
    pub const fn tracker(&self) -> &FlowTracker {
        &self.lane.tracker
    }

    /// Messages completed since the last call, oldest first; none unless
    /// [`FlowConfig::keeps_details`].
    pub fn drain_messages(&mut self) -> std::vec::Drain<'_, MessageEvent> {
        self.lane.drain_messages()
    }

    /// The report of everything handled so far.
    #[must_use]
    pub fn report(&self, context: ReportContext) -> Report {
        self.clone().finish(context)
    }

    /// The report of everything handled.
    #[must_use]
    pub fn finish(self, context: ReportContext) -> Report {
        self.analyse(&context).report
    }

    /// Analyses everything handled, and reports it.
    #[must_use]
    pub fn analyse(self, context: &ReportContext) -> Analysed {
        let understanding = self.understand();
        let report = Report::new(&understanding, context);
        Analysed { understanding, report }
    }

    /// Analyses everything handled.
    #[must_use]
    pub fn understand(self) -> Understanding {
        let Lane { mut tracker, records, .. } = self.lane;
        tracker.finish();
        let mut state = State::new(tracker);
        state.positions = position::of_taps(&state.tracker);
        state.health = self.health;
        state.sampled = self.sampled;
        if let Some((linking, records)) = self.linking.zip(records) {
            linking.link(records, &self.processes, &mut state);
        }
        join_logs(&mut state, self.logs);
        let tools = self.tools.finish(&mut state.health);
        (state.outputs, state.output_lines) = (tools.outputs, tools.lines);
        state.excerpts = tools.excerpts;
        state.nodes = node::nodes(&state.outputs);
        state.switches = switch::switches(&state.outputs);
        let (counters, health) = self.counters.finish();
        state.counters = counters;
        health.iter().for_each(|(name, count)| state.health.add(name, count));
        state.names = PortNames::new(state.job.as_ref(), &state.logs, &self.host_names);
        state.counters.join(&state.names);
        state.rails = match &self.settings.rails {
            Some(map) => Rails::mapped(map, &state.names),
            None => Rails::agreed(&state.names),
        };
        state.host_names = self.host_names;
        state.roll_call = self.roll_call;
        state.proxies = self.proxies;
        state.proxies.extend(self.profiles.records());
        state.labels = self.labels;
        state.numbering = self.numbering;
        understand(state, &self.settings.findings)
    }
}

/// Joins NCCL's logs with what was captured.
fn join_logs(state: &mut State, logs: LogTracker) {
    let logs = logs.finish();
    let linked = logs.link();
    if state.job.is_none() && !logs.processes.is_empty() {
        state.job = Some(Job::default());
    }
    if let Some(job) = &mut state.job {
        let places = join::join(job, &logs, &linked);
        state.health.add(HealthEvent::LinkConflicts, job.conflicts.len() as u64);
        state.health.add(HealthEvent::LinkCommunicatorsDropped, job.dropped_communicators);
        let named = linked.memberships.iter();
        let places = named.filter_map(|(at, id)| Some((*at, *places.get(id)?)));
        state.memberships = places.collect();
    }
    logs.health.iter().for_each(|(name, count)| state.health.add(name, count));
    state.logs = logs;
}

impl Pipeline {
    /// When the oldest kept data message passed, over RDMA or TCP, and the latest.
    fn messages(&self) -> Option<Span> {
        let sockets = self.sockets().map(|(span, _)| span);
        let traffic = self.lane.records.as_ref().and_then(|records| records.traffic.span());
        [traffic, sockets].into_iter().flatten().reduce(|one, other| Span {
            first: one.first.min(other.first),
            last: one.last.max(other.last),
        })
    }

    /// Messages that still fit; `None` if none are kept.
    fn room(&self) -> Option<usize> {
        let sockets = self.sockets().map_or(0, |(_, count)| count);
        Some(self.lane.records.as_ref()?.traffic.room().saturating_sub(sockets))
    }

    /// Data messages over TCP: when they passed, and how many are kept.
    fn sockets(&self) -> Option<(Span, usize)> {
        self.linking.as_ref()?.control.messages()
    }
}

impl Linking {
    /// Links control plane and data plane; logs are joined later.
    fn link(self, records: Records, processes: &ProcessTracker, state: &mut State) {
        let Records { mut traffic, sightings, .. } = records;
        let State { tracker, positions, health, .. } = &mut *state;
        let Self { mut streams, mut control, attempts, farewells } = self;
        streams.finish(&mut control);
        streams.add_health(health);
        control.add_health(health);
        health.add(HealthEvent::LinkMessagesDropped, traffic.dropped_messages());
        let forgotten = traffic.forgotten_messages() + control.forgotten_messages();
        health.add(HealthEvent::LinkMessagesForgotten, forgotten);
        health.add(HealthEvent::LinkSignalsDropped, traffic.dropped_signals());
        health.add(HealthEvent::LinkResendsDropped, traffic.dropped_resends());
        let mut facts = control.facts();
        let clocks = relate::relate(&sightings, tracker.taps(), positions, &facts);
        // They go before linking needs memory.
        drop((streams, control, sightings));
        if clocks.corrects() {
            timeline::align_facts(&mut facts, &clocks);
            traffic.align(&clocks);
        }
        let records = traffic.take_flows();
        let seen = Traffic { table: tracker.flows(), positions, clocks: &clocks };
        let mut job = linker::link(&facts, seen, records);
        health.add(HealthEvent::LinkSocketsUnread, job.unread_sockets);
        processes.join(&mut job, &facts.rings);
        processes.add_health(health);
        state.job = Some(job);
        state.clocks = clocks;
        state.streams = facts.streams;
        state.signals = traffic.signals().to_vec();
        let last = state.signals.last().filter(|_| traffic.misses_signals());
        state.signals_end = last.map(|signal| signal.time);
        let are_all_kept = !traffic.misses_resends();
        state.resends = are_all_kept.then(|| traffic.resends().to_vec());
        state.are_messages_missing = traffic.misses_messages();
        state.attempts = attempts;
        state.farewells = farewells;
    }
}
