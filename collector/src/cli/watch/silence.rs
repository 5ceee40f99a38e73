//! A hint if no packet arrives at all.

use std::time::{Duration, Instant};

use crate::live::session::Session;

/// Silence after which the hint is shown.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time without any packet since the start.
pub(super) struct Silence {
    began: Instant,
    is_shown: bool,
}

impl Silence {
    /// No packet has arrived yet.
    pub(super) fn begin() -> Self {
        Self { began: now(), is_shown: false }
    }

    /// The hint, once, after a long silence.
    pub(super) fn hint(&mut self, session: &Session) -> Option<String> {
        if session.frames() > 0 || self.is_shown || self.began.elapsed() <= PATIENCE {
            return None;
        }
        self.is_shown = true;
        Some(format!("no frame in {} s", PATIENCE.as_secs()))
    }
}

#[expect(clippy::disallowed_methods, reason = "silence is reported after a while")]
fn now() -> Instant {
    Instant::now()
}
