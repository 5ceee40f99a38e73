//! A hint if no packet arrives at all.

use std::time::{Duration, Instant};

use crate::live::session::Session;
use railscope_core::report::words::number;

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
        let patience = PATIENCE.as_secs();
        Some(match session.unused_frames() {
            0 => format!("no frame in {patience} s"),
            unused => {
                let unused = number::counted(unused, "frame");
                format!("no RoCE and no TCP in {patience} s, but {unused} of other protocols")
            }
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "silence is reported after a while")]
fn now() -> Instant {
    Instant::now()
}
