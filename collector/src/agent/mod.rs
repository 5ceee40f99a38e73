//! The agent: live sources, the pipeline and exporters, composed and kept running on a training
//! node.
//!
//! ```text
//! sources -> Pipeline -> Understanding -+-> Accumulator -+-> /metrics
//!               |                       |       ^        +-> OTLP
//!               |                       +-> Report ---------> /report.json
//!               +-- traffic of flows, every interval
//!
//! packet sockets -> recording: a ring on disk, saved when a report has what a trigger waits for
//! ```
//!
//! Analyses are limited in CPU time, so they may be rarer than exports. The traffic of flows is
//! updated in between, unless an analysis is running.
//!
//! Whatever is missing (a capability, an interface, a receiver) is reported once, shows in
//! `railscope.source.visible`, and stops nothing else.

pub mod confine;
pub mod log;
pub mod recording;
pub mod server;
pub mod source;
pub mod web_config;

mod deep;
mod node;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "without_otlp.rs"]
pub mod otlp;
mod own;
mod pages;
mod reload;
#[cfg(feature = "otlp")]
mod secret;
mod served;
mod service_manager;
mod small_file;
mod wall_clock;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;

use self::deep::{Alarm, DeepMode};
use self::log::Log;
use self::node::{Node, Running, Updates};
use self::otlp::Otlp;
use self::own::Own;
use self::pages::Pages;
use self::recording::Recording;
use self::served::Served;
use self::server::Server;
use self::service_manager::ServiceManager;
use self::source::check;
use self::source::running::Sources;
use self::wall_clock::now;
use self::web_config::WebConfigFile;
use crate::config::{Settled, Values};
use crate::heap;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::process::Processes;
use crate::live::analyst::SHARE_BESIDE_TRAINING;
use crate::live::runner::{Pace, Runner};
use crate::live::session::Session;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings as MetricSettings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::pipeline::{Pipeline, PipelineConfig, Settings};

/// Flows tracked at once.
const FLOW_CAPACITY: usize = 16_384;

/// Longest wait for packets in each round.
const PATIENCE: Duration = Duration::from_millis(100);

/// Polls at the end: two of them empty a full kernel ring.
const LAST_POLLS: u32 = 2;

/// A running agent.
pub struct Agent {
    runner: Runner,
    node: Node,
    in_force: Values,
    served: Served,
    log: Log,
}

impl Agent {
    /// Opens all sources and exporters. `variable` is the environment; what is missing goes to `log`.
    ///
    /// # Errors
    ///
    /// The address or the socket of the pages cannot be used, or their web configuration or the receiver's URL is wrong.
    pub fn start(
        settled: Settled,
        variable: &dyn Fn(&str) -> Option<String>,
        mut log: Log,
    ) -> anyhow::Result<Self> {
        heap::keep_little();
        let Settled { config, values: in_force } = settled;
        let counts = log.counts();
        let say = &mut |text: String| log.say(&text);
        let host = config.host.name.clone().unwrap_or_else(host_name);
        let rights = Host::read("/proc".as_ref(), "/sys".as_ref());
        let verdicts = check::verdicts(config.sources, &rights);
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
        let processes = Processes::new(&config.host.proc).naming_pods(&config.host.logs);
        let deep = Arc::new(DeepMode::default());
        let known = (&processes, &deep);
        let sources = Sources::open(&config, &host, &rights, known, &mut session, say);
        let alarm = Alarm::new(&config.profiles, &deep);
        let labels = config.labels;
        let metric_settings = MetricSettings {
            ranks: labels.rank,
            peers: labels.peer,
            channels: labels.channel,
            ports: None,
        };
        let otlp = Otlp::start(&config, &host, variable)?;
        let pages = Arc::new(Pages::default());
        let web = WebConfigFile::open(&config.prometheus).context("prometheus.web-config")?;
        let settings = &config.prometheus;
        let served = Served::start(settings, host_name(), &pages, processes, &web, say)?;
        let interval = config.otlp.interval;
        let pace = Pace {
            every: interval,
            share: SHARE_BESIDE_TRAINING,
            window: Some(config.window.length),
            patience: PATIENCE,
        };
        let accumulator = Accumulator::new(metric_settings, now());
        let updates = Updates::every(interval);
        let own = Own::default();
        let has_said_short = false;
        let recording = Recording::open(&config, &host, say);
        confine::filter_system_calls(say);
        let node = Node {
            sources,
            recording,
            alarm,
            web,
            own,
            accumulator,
            otlp,
            pages,
            updates,
            log: counts,
            has_said_short,
        };
        Ok(Self { runner: Runner::new(session, pace)?, node, in_force, served, log })
    }

    /// Address of the pages, if they are served.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.served.server().map(Server::address)
    }

    /// Runs until `is_over`, then exports what is left. `reload` returns new settings when they are asked for.
    ///
    /// # Errors
    ///
    /// A source or the analysis fails for good.
    pub fn run(
        self,
        is_over: &AtomicBool,
        reload: &mut dyn FnMut() -> Option<anyhow::Result<Settled>>,
    ) -> anyhow::Result<()> {
        let Self { mut runner, mut node, mut in_force, served, mut log } = self;
        let say = &mut |text: String| log.say(&text);
        let mut manager = ServiceManager::find();
        manager.ready(served.server().map(Server::metrics).as_deref(), say);
        let mut running = Running {
            node: &mut node,
            manager: &mut manager,
            in_force: &mut in_force,
            is_over,
            reload,
            say,
        };
        let outcome = runner.run(&mut running);
        manager.stopping();
        // What is left in the kernel's rings, and what was lost there.
        for _ in 0..LAST_POLLS {
            if let Err(error) = runner.session_mut().poll(Duration::ZERO, say) {
                say(format!("packets: {error}"));
            }
        }
        if outcome.is_ok() {
            node.finish(runner, say);
        }
        drop(served);
        log.end();
        outcome
    }
}

/// The kernel's name of this host.
fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
