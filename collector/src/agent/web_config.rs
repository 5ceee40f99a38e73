//! The web configuration of the agent's pages while it runs: read again within a second after a file of it
//! has changed, as renewed certificates are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::web_config::{Files, LiveWebConfig, WebConfig, WebConfigError};
use crate::config::PrometheusConfig;

/// Time between two looks at the files.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The file, and what it said.
pub(super) struct WebConfigFile {
    /// `None` without one.
    path: Option<PathBuf>,
    /// What was read, also if it was refused.
    files: Files,
    live: Arc<LiveWebConfig>,
    looked: Instant,
}

impl WebConfigFile {
    /// Reads it, if pages are served.
    pub(super) fn open(settings: &PrometheusConfig) -> Result<Self, WebConfigError> {
        let path = settings.web_config.clone().filter(|_| settings.enabled);
        let mut files = Files::default();
        let config = path.as_deref().map(|path| WebConfig::read(path, &mut files)).transpose()?;
        let live = Arc::new(LiveWebConfig::new(config.unwrap_or_default()));
        Ok(Self { path, files, live, looked: now() })
    }

    /// What it says now.
    pub(super) fn live(&self) -> &Arc<LiveWebConfig> {
        &self.live
    }

    /// Says what whoever reaches the pages can do.
    pub(super) fn warn(&self, say: &mut dyn FnMut(String)) {
        let config = self.live.get();
        if config.is_open() {
            say("metrics: whoever reaches this address reads all pages: names of hosts, jobs and \
                 processes, and traffic; there is no authentication (prometheus.web-config)"
                .to_owned());
        } else if config.has_clear_passwords() {
            say("metrics: passwords cross the network as they are: add tls_server_config to \
                 prometheus.web-config"
                .to_owned());
        }
    }

    /// Reads it again if a file has changed.
    pub(super) fn look(&mut self, say: &mut dyn FnMut(String)) {
        if self.looked.elapsed() >= LOOK_AGAIN {
            self.looked = now();
            if self.files.have_changed() {
                self.reload(say);
            }
        }
    }

    /// Reads it again. One with a mistake is refused as a whole.
    pub(super) fn reload(&mut self, say: &mut dyn FnMut(String)) {
        let Some(path) = self.path.as_deref() else { return };
        self.files = Files::default();
        match WebConfig::read(path, &mut self.files) {
            Ok(config) => {
                say(format!("metrics: {} was read again", path.display()));
                self.live.set(config);
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                say(format!("metrics: {error:#}; users and certificates stay as they were"));
            }
        }
    }
}

/// What is wrong with the one of the settings.
#[must_use]
pub fn problem(settings: &PrometheusConfig) -> Option<String> {
    let path = settings.web_config.as_deref().filter(|_| settings.enabled)?;
    let error = WebConfig::read(path, &mut Files::default()).err()?;
    Some(format!("prometheus.web-config: {:#}", anyhow::Error::from(error)))
}

#[expect(clippy::disallowed_methods, reason = "files are looked at now and then")]
fn now() -> Instant {
    Instant::now()
}
