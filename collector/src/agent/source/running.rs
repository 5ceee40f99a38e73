//! The sources while the agent runs.

use std::sync::Arc;
use std::time::Duration;

use super::SOURCES;
use super::beside::{Beside, Reading};
use super::contract::{Between, Context, Opened, Opening};
use super::visibility::Visibility;
use crate::agent::deep::DeepMode;
use crate::config::Config;
use crate::ingest::capability::Host;
use crate::ingest::process::Processes;
use crate::live::session::Session;

/// The source of rings, which come and go.
const PROFILES: &str = "profiles";

/// The open sources.
pub(in crate::agent) struct Sources {
    between: Vec<Box<dyn Between>>,
    beside: Option<Reading>,
    visibility: Visibility,
    /// Whether a job hangs, as of the latest report.
    is_alarmed: bool,
    deep: Arc<DeepMode>,
}

impl Sources {
    /// Opens all enabled sources that can run here.
    pub(in crate::agent) fn open(
        config: &Config,
        host: &str,
        rights: &Host,
        (processes, deep): (&Processes, &Arc<DeepMode>),
        session: &mut Session,
        say: &mut dyn FnMut(String),
    ) -> Self {
        let opening = Opening { config, host, rights, processes, deep };
        let mut visibility = Visibility::default();
        let (mut between, mut beside) = (Vec::new(), Vec::<Box<dyn Beside>>::new());
        for source in SOURCES.iter().filter(|source| source.is_on(config.sources)) {
            let visibility = &mut visibility;
            let mut context = Context { session, visibility, is_alarmed: false, say };
            match source.open(&opening, &mut context) {
                Opened::Between(source) => between.push(source),
                Opened::Beside(source) => beside.push(source),
                Opened::Nothing => {}
            }
        }
        let beside = Reading::start(beside, &config.host.proc, say);
        let deep = Arc::clone(deep);
        Self { between, beside, visibility, is_alarmed: false, deep }
    }

    /// Reads the sources that are due, in each round of the agent.
    pub(in crate::agent) fn read(&mut self, session: &mut Session, say: &mut dyn FnMut(String)) {
        let Self { between, beside, visibility, is_alarmed, deep } = self;
        for source in between {
            source.read(&mut Context { session, visibility, is_alarmed: *is_alarmed, say });
        }
        if let Some(beside) = beside {
            beside.read(session.pipeline_mut(), say);
        }
        // Where no process has the plugin, nothing is missing.
        visibility.remove(PROFILES, "all");
        if deep.rings() > 0 {
            visibility.add_seeing(PROFILES, "all");
        }
    }

    /// Gives new settings to the sources.
    pub(in crate::agent) fn configure(
        &mut self,
        config: &Config,
        session: &mut Session,
        say: &mut dyn FnMut(String),
    ) {
        let Self { between, visibility, is_alarmed, .. } = self;
        for source in between {
            let mut context = Context { session, visibility, is_alarmed: *is_alarmed, say };
            source.configure(config, &mut context);
        }
    }

    /// Reads what is left, and stops.
    pub(in crate::agent) fn finish(&mut self, session: &mut Session, say: &mut dyn FnMut(String)) {
        if let Some(beside) = &mut self.beside {
            beside.finish(session.pipeline_mut(), say);
        }
    }

    /// Whether a job hangs: some sources are only asked then.
    pub(in crate::agent) fn set_alarm(&mut self, is_alarmed: bool) {
        self.is_alarmed = is_alarmed;
    }

    /// What the sources see now.
    pub(in crate::agent) fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// CPU time of all kernel programs, by name.
    pub(in crate::agent) fn kernel_times(&self, session: &Session) -> Vec<(String, Duration)> {
        let between = self.between.iter().flat_map(|source| source.kernel_times(session));
        between.chain(self.beside.iter().flat_map(Reading::kernel_times)).collect()
    }
}
