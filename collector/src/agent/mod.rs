//! The agent: live sources, the pipeline and exporters, composed and kept running on a training node.
//!
//! ```text
//! packets (live), NIC counters, calls -> Pipeline -> Report now and then -+-> Accumulator -+-> /metrics
//!                                           |                             |       ^        +-> OTLP
//!                                           |                             +-------|----------> /report.json
//!                                           +-- what flows carried, every interval
//! ```
//!
//! A report costs CPU time, of which it may take little, so that it may come less often than metrics are
//! told; what flows carried is brought up to date in between, unless a report is being made.
//!
//! Whatever is missing (a capability, an interface, a receiver) is said once, shows in
//! `railscope.source.visible`, and stops nothing else.

pub mod server;
pub mod sight;

mod interfaces;
mod nics;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "without_otlp.rs"]
mod otlp;
mod own;
mod pages;
mod processes;
mod queue_pairs;
mod taps;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;

use self::nics::Nics;
use self::otlp::Otlp;
use self::own::Own;
use self::pages::Pages;
use self::processes::Processes;
use self::server::Server;
use self::taps::Taps;
use crate::config::Config;
use crate::ingest::capability::Verdict;
use crate::live::analyst::{self, Analyst, SHARE_BESIDE_TRAINING, timed};
use crate::live::session::Session;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings as MetricSettings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig, Settings};
use railscope_core::report::ledger::Ending;
use railscope_core::report::{Detail, Report};

/// Flows followed at a time.
const FLOW_CAPACITY: usize = 16_384;

/// Of one CPU, telling what flows carried takes at most one part in so many.
const SHARE_OF_UPDATES: u32 = 250;

/// How long packets are waited for before other things are looked after.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long what waits for a receiver may still take when all is over.
const FLUSHING: Duration = Duration::from_secs(5);

/// Polls at the end: the kernel's ring has room for as much as two take.
const LAST_POLLS: u32 = 2;

/// An agent that runs.
pub struct Agent {
    config: Config,
    session: Session,
    taps: Taps,
    nics: Option<Nics>,
    processes: Option<Processes>,
    analyst: Analyst,
    accumulator: Accumulator,
    /// When metrics were told last.
    told: Instant,
    /// From then on what flows carried is not told for so long, unless by a report.
    pause: Duration,
    own: Own,
    otlp: Option<Otlp>,
    pages: Arc<Pages>,
    server: Option<Server>,
}

impl Agent {
    /// Opens everything that there is; `variable` is the environment, `say` hears what is missing.
    ///
    /// # Errors
    ///
    /// What was asked for by name cannot be had: an address that nobody may listen on, a receiver's
    /// URL that makes no sense.
    pub fn start(
        config: Config,
        variable: &dyn Fn(&str) -> Option<String>,
        say: &mut dyn FnMut(String),
    ) -> anyhow::Result<Self> {
        let now = now();
        let host = config.host.name.clone().unwrap_or_else(interfaces::host_name);
        let mut own = Own::default();
        let verdicts = sight::verdicts(config.sources);
        if !verdicts.iter().all(Verdict::runs) {
            verdicts.iter().for_each(|verdict| say(verdict.to_string()));
        }
        let flow =
            FlowConfig { flow_capacity: FLOW_CAPACITY, line_rate_bps: None, keeps_details: false };
        let message_capacity = Some(config.window.messages);
        let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity });
        pipeline.configure(Settings { findings: config.findings.clone(), rails: None });
        pipeline.processes_mut().set_host(&*host);
        let mut session = Session::new(pipeline);
        let taps = Taps::open(&config, &mut session, &mut own, say);
        let nics = Nics::open(&config, &host, now, session.pipeline_mut(), &mut own, say);
        let processes = Processes::open(&config, &mut own, say);
        let labels = config.labels;
        let settings = MetricSettings {
            ranks: labels.rank,
            peers: labels.peer,
            channels: labels.channel,
            ports: None,
        };
        let otlp = Otlp::start(&config, &host, variable)?;
        let pages = Arc::new(Pages::default());
        let server = match config.prometheus.enabled {
            true => Some(Server::start(
                config.prometheus.listen,
                Pages::routes(&pages, config.host.proc.clone()),
            )?),
            false => None,
        };
        if let Some(server) = &server {
            say(format!("metrics: http://{}/metrics", server.address()));
        }
        Ok(Self {
            session,
            taps,
            nics,
            processes,
            analyst: Analyst::start(config.otlp.interval, SHARE_BESIDE_TRAINING)?,
            accumulator: Accumulator::new(settings, now),
            told: instant(),
            pause: config.otlp.interval,
            own,
            otlp,
            pages,
            server,
            config,
        })
    }

    /// Where `/metrics` is, if it is.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Runs until `is_over`; then tells what is left, and ends.
    ///
    /// # Errors
    ///
    /// A source or the analysis fails for good.
    pub fn run(mut self, is_over: &AtomicBool, say: &mut dyn FnMut(String)) -> anyhow::Result<()> {
        while !is_over.load(Ordering::Relaxed) {
            self.session.poll(PATIENCE, &mut |_| {}, say).context("read packets")?;
            self.taps.look(&mut self.session, &mut self.own, say);
            if let Some(nics) = &mut self.nics {
                nics.read(self.session.pipeline_mut(), &mut self.own, say);
            }
            if let Some(processes) = &mut self.processes {
                processes.read(self.session.pipeline_mut(), say);
            }
            let context = || self.session.context(Detail::Summary);
            self.analyst.offer(self.session.pipeline(), context);
            if let Some(analysed) = self.analyst.take()? {
                let window = self.config.window.length.as_nanos();
                let window = u64::try_from(window).unwrap_or(u64::MAX);
                let ((), took) = timed(|| {
                    self.session.slide(window, &analysed.understanding);
                    self.tell(analysed.report, Ending::Open, say);
                });
                self.analyst.charge(took);
            } else if self.analyst.is_resting() && self.told.elapsed() >= self.pause {
                let ((), took) = timed(|| self.tell_traffic(say));
                let pause = analyst::pause(took, SHARE_OF_UPDATES);
                self.pause = pause.max(self.config.otlp.interval);
            }
        }
        // What lies in the kernel's rings, and what found no room there.
        for _ in 0..LAST_POLLS {
            if let Err(error) = self.session.poll(Duration::ZERO, &mut |_| {}, say) {
                say(format!("packets: {error}"));
            }
        }
        if let Some(processes) = &mut self.processes {
            processes.finish(self.session.pipeline_mut(), say);
        }
        let report = self.session.pipeline().report(self.session.context(Detail::Summary));
        self.tell(report, Ending::Closed, say);
        if let Some(otlp) = self.otlp.take() {
            otlp.finish(FLUSHING, say);
        }
        Ok(())
    }

    /// Gives what a report adds to everybody who wants it.
    fn tell(&mut self, report: Report, ending: Ending, say: &mut dyn FnMut(String)) {
        let now = now();
        let news = self.accumulator.observe(&report, ending);
        for finding in &news.findings {
            say(format!("{}: {}", finding.severity, finding.title));
        }
        // The report is of when it was ordered.
        self.accumulator.observe_traffic(self.session.pipeline().tracker());
        if let Some(otlp) = &mut self.otlp {
            otlp.send(&report, &news, now);
        }
        self.own.add_report();
        self.tell_metrics(now, say);
        self.pages.set_report(report);
    }

    /// Gives what flows have carried since they were told to everybody who wants it.
    fn tell_traffic(&mut self, say: &mut dyn FnMut(String)) {
        self.accumulator.observe_traffic(self.session.pipeline().tracker());
        self.own.add_update();
        self.tell_metrics(now(), say);
    }

    fn tell_metrics(&mut self, now: Timestamp, say: &mut dyn FnMut(String)) {
        let exports = self.otlp.as_ref().map(Otlp::figures).unwrap_or_default();
        let mut kernel_times = self.session.kernel_times();
        kernel_times.extend(self.processes.iter().flat_map(Processes::kernel_times));
        self.accumulator.observe_own(&self.own.figures(kernel_times, exports));
        self.accumulator.observe_processes(self.session.pipeline().processes());
        let points = self.accumulator.points(now);
        if let Some(otlp) = &mut self.otlp {
            otlp.send_metrics(&points, say);
        }
        self.pages.set_points(points);
        self.pages.set_blindness(self.own.blindness());
        self.told = instant();
    }
}

#[expect(clippy::disallowed_methods, reason = "metrics are told once in an interval")]
fn instant() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "metrics are told with the time of the clock")]
fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
