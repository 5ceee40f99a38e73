//! A hint where no packet comes at all.

use std::time::{Duration, Instant};

use crate::live::session::Session;

/// How long nothing may come before it is said.
const PATIENCE: Duration = Duration::from_secs(5);

/// Silence since the beginning.
pub(super) struct Silence {
    began: Instant,
    is_told: bool,
}

impl Silence {
    /// Nothing has come yet.
    pub(super) fn begin() -> Self {
        Self { began: now(), is_told: false }
    }

    /// What to say, once, where nothing has come for long.
    pub(super) fn hint(&mut self, session: &Session) -> Option<String> {
        if session.frames() > 0 || self.is_told || self.began.elapsed() <= PATIENCE {
            return None;
        }
        self.is_told = true;
        Some(format!("no frame in {} s", PATIENCE.as_secs()))
    }
}

#[expect(clippy::disallowed_methods, reason = "silence is told after a while")]
fn now() -> Instant {
    Instant::now()
}
