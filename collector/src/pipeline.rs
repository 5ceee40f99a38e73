//! The layers composed: frames and lines in, a report out. Reads no clock, file or environment, so
//! that a replay, a live capture and a test give the same report for the same frames.

use crate::decode::packet::{self, Body};
use crate::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use crate::flow::tracker::{FlowConfig, FlowTracker, MessageEvent};
use crate::link::log::LogTracker;
use crate::link::position;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::tap::{HostName, Tap, TapId};
use crate::model::witness::LogId;
use crate::report::logs::LogSources;
use crate::report::{Linked, Report, ReportContext, communicators};

/// Everything that is known so far.
///
/// Call [`add_tap`](Self::add_tap) before the first frame of a tap, then
/// [`handle_frame`](Self::handle_frame) in the order of time (per tap: in the order of capture),
/// and [`finish`](Self::finish) once.
pub struct Pipeline {
    tracker: FlowTracker,
    streams: TcpStreams,
    logs: LogTracker,
    host_names: Vec<HostName>,
    health: Health,
}

/// Names kept of those that captures give to addresses.
const HOST_NAME_CAPACITY: usize = 65_536;

impl Pipeline {
    /// A pipeline that has seen nothing.
    #[must_use]
    pub fn new(config: FlowConfig) -> Self {
        Self {
            tracker: FlowTracker::new(config),
            streams: TcpStreams::new(TcpConfig::default()),
            logs: LogTracker::default(),
            host_names: Vec::new(),
            health: Health::default(),
        }
    }

    /// Adds the next tap; taps are numbered from 0 in the order in which they are added.
    pub fn add_tap(&mut self, tap: Tap) {
        self.tracker.add_tap(tap);
    }

    /// A capture gives a name to an address.
    pub fn add_host_name(&mut self, name: HostName) {
        if self.host_names.len() < HOST_NAME_CAPACITY {
            self.host_names.push(name);
        } else {
            self.health.add("capture.host_names_dropped", 1);
        }
    }

    /// The source lost frames of a tap.
    pub fn add_lost_frames(&mut self, tap: TapId, frames: u64) {
        self.tracker.add_lost_frames(tap, frames);
    }

    /// Adds to a counter of what was missed before the frames came here.
    pub fn add_health(&mut self, name: &'static str, count: u64) {
        self.health.add(name, count);
    }

    /// Takes the next frame.
    #[inline]
    pub fn handle_frame(&mut self, frame: &Frame<'_>) {
        packet::decode_with(frame, |packet| {
            self.tracker.observe(frame, packet, &mut ());
            if let (Body::Tcp(segment), Some(ip)) = (&packet.body, &packet.ip) {
                self.streams.observe(frame, ip.source, ip.destination, segment, &mut ());
            }
        });
    }

    /// Adds the next NCCL log; logs are numbered from 0 in the order in which they are added.
    pub fn add_log(&mut self, name: impl Into<String>) -> LogId {
        self.logs.add_log(name)
    }

    /// Takes the next line of a log, with or without its end; `number` counts from 1. Lines come in
    /// the order of their log; logs, and frames, in any. Whether NCCL wrote it.
    pub fn handle_log_line(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        self.logs.observe(log, number, line)
    }

    /// Hands out the messages that were completed since the last call, oldest first; none unless
    /// [`FlowConfig::keeps_details`].
    pub fn drain_messages(&mut self) -> std::vec::Drain<'_, MessageEvent> {
        self.tracker.drain_messages()
    }

    /// The report of everything that was handled.
    #[must_use]
    pub fn finish(mut self, mut context: ReportContext) -> Report {
        self.streams.finish(&mut ());
        self.streams.add_health(&mut self.health);
        context.host_names = self.host_names;
        let positions = position::of_taps(&self.tracker);
        let (logs, linked_logs) = finish_logs(self.logs);
        context.logs = logs;
        // What logs alone tell stands in for what was linked, where there is no capture.
        let linked = self.tracker.taps().is_empty().then_some(linked_logs);
        Report::new(&mut self.tracker, &positions, linked.as_ref(), &context, self.health)
    }
}

/// What logs say, and the communicators they tell.
fn finish_logs(logs: LogTracker) -> (LogSources, Linked) {
    let facts = logs.finish();
    let linked = facts.link();
    let job = linked.job;
    let name = |id| communicators::name_of(&job, id);
    let names = linked.memberships.iter().filter_map(|(place, id)| Some((*place, name(*id)?)));
    let communicators = names.collect();
    (LogSources { facts, communicators }, Linked { job, ..Linked::default() })
}
