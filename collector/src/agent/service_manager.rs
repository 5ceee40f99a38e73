//! Messages to systemd (`Type=notify`): ready, alive, stopping. Without a service manager they go nowhere.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager that started the agent, if one did.
pub(super) struct ServiceManager {
    /// Interval between signs of life; `None` if it has no watchdog.
    every: Option<Duration>,
    latest: Instant,
}

impl ServiceManager {
    /// As the environment has it (`NOTIFY_SOCKET`, `WATCHDOG_USEC`).
    pub(super) fn find() -> Self {
        // systemd recommends half of its limit.
        Self { every: sd_notify::watchdog_enabled().map(|limit| limit / 2), latest: instant() }
    }

    /// Reports that all sources are open and pages are served; `pages` is the URL of the metrics.
    pub(super) fn ready(&self, pages: Option<&str>, say: &mut dyn FnMut(String)) {
        let status = pages.map(|url| format!("metrics: {url}"));
        let mut states = vec![NotifyState::Ready];
        states.extend(status.as_deref().map(NotifyState::Status));
        if let Err(error) = sd_notify::notify(&states) {
            say(format!("tell the service manager that the agent is ready: {error}"));
        }
    }

    /// Reports that the agent's loop is running, at most once in half of the watchdog's limit.
    pub(super) fn alive(&mut self) {
        if self.every.is_some_and(|every| self.latest.elapsed() >= every) {
            self.latest = instant();
            // If this fails, systemd restarts the agent, as it should.
            _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }

    /// Reports that the agent is ending.
    pub(super) fn stopping(&self) {
        // The agent ends either way.
        _ = sd_notify::notify(&[NotifyState::Stopping]);
    }
}

#[expect(clippy::disallowed_methods, reason = "the watchdog's limit is in real time")]
fn instant() -> Instant {
    Instant::now()
}
