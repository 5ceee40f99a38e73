//! Ctrl-C ends the build that runs and then this program, so that it can tidy up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};

/// Whether the user asked to stop.
pub(super) struct Interrupt {
    is_asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP, which would end this program at once.
    pub(super) fn install() -> Result<Self> {
        let is_asked = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_asked);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
        Ok(Self { is_asked })
    }

    /// # Errors
    /// When the user asked to stop.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.is_asked.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}
