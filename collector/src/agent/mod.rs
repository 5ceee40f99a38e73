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
mod node;
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
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::nics::Nics;
use self::node::{Node, Running, Updates};
use self::otlp::Otlp;
use self::own::Own;
use self::pages::Pages;
use self::processes::Processes;
use self::server::Server;
use self::taps::Taps;
use crate::config::Config;
use crate::ingest::capability::Verdict;
use crate::live::analyst::SHARE_BESIDE_TRAINING;
use crate::live::runner::{Pace, Runner};
use crate::live::session::Session;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings as MetricSettings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig, Settings};

/// Flows followed at a time.
const FLOW_CAPACITY: usize = 16_384;

/// How long packets are waited for before other things are looked after.
const PATIENCE: Duration = Duration::from_millis(100);

/// Polls at the end: the kernel's ring has room for as much as two take.
const LAST_POLLS: u32 = 2;

/// An agent that runs.
pub struct Agent {
    runner: Runner,
    node: Node,
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
        let interval = config.otlp.interval;
        let pace = Pace {
            every: interval,
            share: SHARE_BESIDE_TRAINING,
            window: Some(config.window.length),
            patience: PATIENCE,
        };
        let accumulator = Accumulator::new(settings, now);
        let updates = Updates::every(interval);
        let node = Node { taps, nics, processes, own, accumulator, otlp, pages, updates };
        Ok(Self { runner: Runner::new(session, pace)?, node, server })
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
        self.runner.run(&mut Running { node: &mut self.node, is_over, say })?;
        // What lies in the kernel's rings, and what found no room there.
        for _ in 0..LAST_POLLS {
            if let Err(error) = self.runner.session_mut().poll(Duration::ZERO, say) {
                say(format!("packets: {error}"));
            }
        }
        self.node.finish(self.runner, say);
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "metrics are told with the time of the clock")]
fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
