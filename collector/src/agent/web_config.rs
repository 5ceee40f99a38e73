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
    /// Whether pages are served.
    is_served: bool,
    /// Whether only this host reaches them.
    is_local: bool,
}

/// A file that was read and is not used yet.
pub(super) struct Prepared {
    path: Option<PathBuf>,
    files: Files,
    config: WebConfig,
}

impl WebConfigFile {
    /// Reads it, if pages are served.
    pub(super) fn open(settings: &PrometheusConfig) -> Result<Self, WebConfigError> {
        let mut file = Self {
            path: None,
            files: Files::default(),
            live: Arc::default(),
            looked: now(),
            is_served: settings.enabled,
            is_local: settings.listen.ip().is_loopback(),
        };
        let prepared = file.read(settings)?;
        file.replace(prepared);
        Ok(file)
    }

    /// What it says now.
    pub(super) fn live(&self) -> &Arc<LiveWebConfig> {
        &self.live
    }

    /// Says what whoever reaches the pages can do.
    pub(super) fn warn(&self, say: &mut dyn FnMut(String)) {
        let config = self.live.get();
        if !self.is_served || self.is_local {
            return;
        }
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

    /// Reads it again if a file has changed. One with a mistake is refused as a whole.
    pub(super) fn look(&mut self, say: &mut dyn FnMut(String)) {
        if self.looked.elapsed() < LOOK_AGAIN {
            return;
        }
        self.looked = now();
        let Some(path) = self.path.clone().filter(|_| self.files.have_changed()) else { return };
        self.files = Files::default();
        match WebConfig::read(&path, &mut self.files) {
            Ok(config) => {
                say(format!("metrics: {} was read again", path.display()));
                self.live.set(config);
                self.warn(say);
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                say(format!("metrics: {error:#}; users and certificates stay as they were"));
            }
        }
    }

    /// Reads the one of new settings.
    pub(super) fn read(&self, settings: &PrometheusConfig) -> Result<Prepared, WebConfigError> {
        let path = settings.web_config.clone().filter(|_| self.is_served);
        let mut files = Files::default();
        let config = path.as_deref().map(|path| WebConfig::read(path, &mut files)).transpose()?;
        Ok(Prepared { path, files, config: config.unwrap_or_default() })
    }

    /// Uses it.
    pub(super) fn set(&mut self, prepared: Prepared, say: &mut dyn FnMut(String)) {
        self.replace(prepared);
        self.warn(say);
    }

    fn replace(&mut self, prepared: Prepared) {
        let Prepared { path, files, config } = prepared;
        (self.path, self.files) = (path, files);
        self.live.set(config);
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
