//! What an agent does besides packets: it reads what else the node tells, and gives what reports say to
//! everybody who wants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::nics::Nics;
use super::now;
use super::otlp::Otlp;
use super::own::Own;
use super::pages::Pages;
use super::processes::Processes;
use super::taps::Taps;
use crate::live::analyst::{self, timed};
use crate::live::runner::{Observer, Runner};
use crate::live::session::Session;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::ledger::Ending;

/// Of one CPU, telling what flows carried takes at most one part in so many.
const SHARE_OF_UPDATES: u32 = 250;

/// How long what waits for a receiver may still take when all is over.
const FLUSHING: Duration = Duration::from_secs(5);

/// Sources besides packets, and where reports go.
pub(super) struct Node {
    pub(super) taps: Taps,
    pub(super) nics: Option<Nics>,
    pub(super) processes: Option<Processes>,
    pub(super) own: Own,
    pub(super) accumulator: Accumulator,
    pub(super) otlp: Option<Otlp>,
    pub(super) pages: Arc<Pages>,
    pub(super) updates: Updates,
}

/// When what flows carried is told between reports.
pub(super) struct Updates {
    interval: Duration,
    /// When metrics were told last.
    told: Instant,
    /// From then on it is not told for so long, unless by a report.
    pause: Duration,
}

/// A node while its agent runs, and who hears what it says.
pub(super) struct Running<'a> {
    pub(super) node: &'a mut Node,
    pub(super) is_over: &'a AtomicBool,
    pub(super) say: &'a mut dyn FnMut(String),
}

impl Updates {
    /// Once in `interval`, or less often where it costs too much.
    pub(super) fn every(interval: Duration) -> Self {
        Self { interval, told: instant(), pause: interval }
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
        let Self { node, say, .. } = self;
        node.taps.look(session, &mut node.own, say);
        if let Some(nics) = &mut node.nics {
            nics.read(session.pipeline_mut(), &mut node.own, say);
        }
        if let Some(processes) = &mut node.processes {
            processes.read(session.pipeline_mut(), say);
        }
        Ok(())
    }

    fn has_other_news(&self) -> bool {
        true
    }

    fn report(&mut self, session: &Session, report: Box<Report>) -> anyhow::Result<()> {
        self.node.tell(*report, Ending::Open, session, self.say);
        Ok(())
    }

    fn rest(&mut self, session: &Session) {
        let updates = &self.node.updates;
        if updates.told.elapsed() < updates.pause {
            return;
        }
        let ((), took) = timed(|| self.node.tell_traffic(session, self.say));
        let updates = &mut self.node.updates;
        updates.pause = analyst::pause(took, SHARE_OF_UPDATES).max(updates.interval);
    }
}

impl Node {
    /// Tells what is left.
    pub(super) fn finish(mut self, mut runner: Runner, say: &mut dyn FnMut(String)) {
        if let Some(processes) = &mut self.processes {
            processes.finish(runner.session_mut().pipeline_mut(), say);
        }
        self.tell(runner.last_report(), Ending::Closed, runner.session(), say);
        if let Some(otlp) = self.otlp.take() {
            otlp.finish(FLUSHING, say);
        }
    }

    /// Gives what a report adds to everybody who wants it.
    fn tell(
        &mut self,
        report: Report,
        ending: Ending,
        session: &Session,
        say: &mut dyn FnMut(String),
    ) {
        let now = now();
        let news = self.accumulator.observe(&report, ending);
        for finding in &news.findings {
            say(format!("{}: {}", finding.severity, finding.title));
        }
        // The report is of when it was ordered.
        self.accumulator.observe_traffic(session.pipeline().tracker());
        if let Some(otlp) = &mut self.otlp {
            otlp.send(&report, &news, now);
        }
        self.own.add_report();
        self.tell_metrics(now, session, say);
        self.pages.set_report(report);
    }

    /// Gives what flows have carried since they were told to everybody who wants it.
    fn tell_traffic(&mut self, session: &Session, say: &mut dyn FnMut(String)) {
        self.accumulator.observe_traffic(session.pipeline().tracker());
        self.own.add_update();
        self.tell_metrics(now(), session, say);
    }

    fn tell_metrics(&mut self, now: Timestamp, session: &Session, say: &mut dyn FnMut(String)) {
        let exports = self.otlp.as_ref().map(Otlp::figures).unwrap_or_default();
        let mut kernel_times = session.kernel_times();
        kernel_times.extend(self.processes.iter().flat_map(Processes::kernel_times));
        self.accumulator.observe_own(&self.own.figures(kernel_times, exports));
        self.accumulator.observe_processes(session.pipeline().processes());
        let points = self.accumulator.points(now);
        if let Some(otlp) = &mut self.otlp {
            otlp.send_metrics(&points, say);
        }
        self.pages.set_points(points);
        self.pages.set_blindness(self.own.blindness());
        self.updates.told = instant();
    }
}

#[expect(clippy::disallowed_methods, reason = "metrics are told once in an interval")]
fn instant() -> Instant {
    Instant::now()
}
