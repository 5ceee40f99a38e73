//! The agent's loop around packets: it reads the other sources, and exports reports and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::deep::Alarm;
use super::log::LogCounts;
use super::otlp::Otlp;
use super::own::Own;
use super::pages::Pages;
use super::recording::Recording;
use super::reload;
use super::service_manager::ServiceManager;
use super::source::running::Sources;
use super::wall_clock::now;
use super::web_config::WebConfigFile;
use crate::config::{Settled, Values};
use crate::heap;
use crate::live::analyst::{self, timed};
use crate::live::runner::{Observer, Runner};
use crate::live::session::Session;
use railscope_core::analysis::ledger::Ending;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Analysed;
use railscope_core::report::news::ReportNews;

/// What packets show of a job that hangs.
const HANG: &str = "stalled_collective";

/// Updating the flows' metrics takes at most one part in this many of a CPU.
const SHARE_OF_UPDATES: u32 = 250;

const WINDOW_SHORTENED: &str = HealthEvent::LinkWindowShortened.name();
const SHORT_WINDOW: &str = "window: full of NCCL messages, so findings and training steps look back for less \
                            than window.length; raise window.messages";

/// Time to send what is queued for a receiver when the agent ends.
const FLUSHING: Duration = Duration::from_secs(5);

/// The sources, and where reports and metrics go.
pub(super) struct Node {
    pub(super) sources: Sources,
    pub(super) recording: Option<Recording>,
    pub(super) alarm: Option<Alarm>,
    pub(super) web: WebConfigFile,
    pub(super) own: Own,
    pub(super) accumulator: Accumulator,
    pub(super) otlp: Option<Otlp>,
    pub(super) pages: Arc<Pages>,
    pub(super) updates: Updates,
    pub(super) log: Arc<LogCounts>,
    /// Whether the user knows that the window is shorter than the settings say.
    pub(super) has_said_short: bool,
}

/// When the flows' metrics are updated between reports.
pub(super) struct Updates {
    interval: Duration,
    /// When metrics were exported last, by an update or a report.
    latest: Instant,
    /// Shortest time from then to the next update.
    pause: Duration,
}

/// A running agent, and the receiver of its messages.
pub(super) struct Running<'a> {
    pub(super) node: &'a mut Node,
    pub(super) manager: &'a mut ServiceManager,
    /// Values of settings that have effect.
    pub(super) in_force: &'a mut Values,
    pub(super) is_over: &'a AtomicBool,
    /// New settings, if they were asked for.
    pub(super) reload: &'a mut dyn FnMut() -> Option<anyhow::Result<Settled>>,
    pub(super) say: &'a mut dyn FnMut(String),
}

impl Updates {
    /// Once in `interval`, or less often if that costs too much.
    pub(super) fn every(interval: Duration) -> Self {
        Self { interval, latest: instant(), pause: interval }
    }
}

impl Observer for Running<'_> {
    fn is_over(&self, _: &Session) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn say(&mut self, text: String) {
        (self.say)(text);
    }

    fn round(&mut self, session: &mut Session) -> anyhow::Result<()> {
        self.node.sources.read(session, self.say);
        if let Some(recording) = &mut self.node.recording {
            recording.look(self.say);
        }
        if let Some(alarm) = &mut self.node.alarm {
            alarm.look(self.say);
        }
        self.node.web.look(self.say);
        if let Some(read) = (self.reload)() {
            reload::apply(read, self.in_force, self.node, session, self.say);
        }
        self.manager.alive();
        Ok(())
    }

    fn has_other_news(&self) -> bool {
        true
    }

    fn report(&mut self, session: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        if let Some(recording) = &mut self.node.recording {
            recording.judge(&analysed, self.say);
        }
        if let Some(alarm) = &mut self.node.alarm {
            alarm.judge(&analysed, self.say);
        }
        self.node.export(*analysed, Ending::Open, session, self.say);
        Ok(())
    }

    fn rest(&mut self, session: &Session) {
        let updates = &self.node.updates;
        if updates.latest.elapsed() < updates.pause {
            return;
        }
        let ((), took) = timed(|| self.node.update(session, self.say));
        let updates = &mut self.node.updates;
        updates.pause = analyst::pause(took, SHARE_OF_UPDATES).max(updates.interval);
    }
}

impl Node {
    /// Reads and exports what is left.
    pub(super) fn finish(mut self, mut runner: Runner, say: &mut dyn FnMut(String)) {
        self.sources.finish(runner.session_mut(), say);
        if let Some(recording) = &mut self.recording {
            recording.end(say);
        }
        self.export(runner.analyse(), Ending::Closed, runner.session(), say);
        if let Some(otlp) = self.otlp.take() {
            otlp.finish(FLUSHING, say);
        }
    }

    /// Exports a report: its news by OTLP and to the user, its metrics, and itself as a page.
    fn export(
        &mut self,
        analysed: Analysed,
        ending: Ending,
        session: &Session,
        say: &mut dyn FnMut(String),
    ) {
        let now = now();
        let Analysed { understanding, report } = analysed;
        let news = self.accumulator.observe(&understanding, ending);
        drop(understanding);
        let news = ReportNews::new(&report, &news);
        for verdict in &news.verdicts {
            say(format!("{}: {}", verdict.severity, verdict.title));
        }
        self.sources.set_alarm(report.findings.iter().any(|finding| finding.id == HANG));
        if !self.has_said_short && report.health.contains_key(WINDOW_SHORTENED) {
            self.has_said_short = true;
            say(SHORT_WINDOW.to_owned());
        }
        // The report shows the time at which it was requested; flows have grown since.
        self.accumulator.observe_traffic(session.pipeline().tracker());
        if let Some(otlp) = &mut self.otlp {
            otlp.send(&report, &news, now);
        }
        self.own.add_report();
        self.export_metrics(now, session, say);
        self.pages.set_report(report);
        heap::give_back();
    }

    /// Exports the flows' growth since the last export.
    fn update(&mut self, session: &Session, say: &mut dyn FnMut(String)) {
        self.accumulator.observe_traffic(session.pipeline().tracker());
        self.own.add_update();
        self.export_metrics(now(), session, say);
    }

    fn export_metrics(&mut self, now: Timestamp, session: &Session, say: &mut dyn FnMut(String)) {
        let exports = self.otlp.as_ref().map(Otlp::figures).unwrap_or_default();
        let kernel_times = self.sources.kernel_times(session);
        let visibility = self.sources.visibility();
        let recording = self.recording.as_ref().map(Recording::figures);
        let log = self.log.figures();
        let own = self.own.figures(visibility.figures(), kernel_times, exports, recording, log);
        self.accumulator.observe_own(&own);
        self.accumulator.observe_processes(session.pipeline().processes());
        self.accumulator.observe_profiles(session.pipeline().profiles());
        let points = self.accumulator.points(now);
        if let Some(otlp) = &mut self.otlp {
            otlp.send_metrics(&points, say);
        }
        self.pages.set_points(points);
        self.pages.set_blindness(visibility.blindness());
        self.updates.latest = instant();
    }
}

#[expect(clippy::disallowed_methods, reason = "metrics are exported once in an interval")]
fn instant() -> Instant {
    Instant::now()
}
