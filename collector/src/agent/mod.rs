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

pub mod recording;
pub mod server;
pub mod source;

mod node;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "without_otlp.rs"]
mod otlp;
mod own;
mod pages;
mod service_manager;
mod wall_clock;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use self::node::{Node, Running, Updates};
use self::otlp::Otlp;
use self::own::Own;
use self::pages::Pages;
use self::recording::Recording;
use self::server::Server;
use self::service_manager::ServiceManager;
use self::source::check;
use self::source::running::Sources;
use self::wall_clock::now;
use crate::config::Config;
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
    server: Option<Server>,
}

impl Agent {
    /// Opens all sources and exporters. `variable` is the environment, `say` takes messages about
    /// what is missing.
    ///
    /// # Errors
    ///
    /// The address of the pages cannot be used, or the receiver's URL is wrong.
    pub fn start(
        config: Config,
        variable: &dyn Fn(&str) -> Option<String>,
        say: &mut dyn FnMut(String),
    ) -> anyhow::Result<Self> {
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
        let sources = Sources::open(&config, &host, &rights, &processes, &mut session, say);
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
            true => {
                Some(Server::start(config.prometheus.listen, Pages::routes(&pages, processes))?)
            }
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
        let accumulator = Accumulator::new(settings, now());
        let updates = Updates::every(interval);
        let own = Own::default();
        let has_said_short = false;
        let recording = Recording::open(&config, &host, say);
        let node =
            Node { sources, recording, own, accumulator, otlp, pages, updates, has_said_short };
        Ok(Self { runner: Runner::new(session, pace)?, node, server })
    }

    /// Address of the pages, if they are served.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Runs until `is_over`, then exports what is left.
    ///
    /// # Errors
    ///
    /// A source or the analysis fails for good.
    pub fn run(mut self, is_over: &AtomicBool, say: &mut dyn FnMut(String)) -> anyhow::Result<()> {
        let mut manager = ServiceManager::find();
        manager.ready(self.address(), say);
        let node = &mut self.node;
        self.runner.run(&mut Running { node, manager: &mut manager, is_over, say })?;
        manager.stopping();
        // What is left in the kernel's rings, and what was lost there.
        for _ in 0..LAST_POLLS {
            if let Err(error) = self.runner.session_mut().poll(Duration::ZERO, say) {
                say(format!("packets: {error}"));
            }
        }
        self.node.finish(self.runner, say);
        Ok(())
    }
}

/// The kernel's name of this host.
fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
