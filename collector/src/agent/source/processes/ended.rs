//! Processes that have ended.

use std::path::Path;

use crate::ingest::process::Processes as Identities;
use railscope_core::pipeline::Pipeline;

/// Rounds of the agent between two searches for ended processes.
const LOOK_EVERY: u32 = 100;

/// Makes the pipeline forget processes that have ended, whichever source brought them.
pub(in crate::agent::source) struct Ended {
    identities: Identities,
    rounds: u32,
}

impl Ended {
    pub(in crate::agent::source) fn new(proc: &Path) -> Self {
        Self { identities: Identities::new(proc), rounds: 0 }
    }

    /// Searches once in 100 calls.
    pub(in crate::agent::source) fn forget(&mut self, pipeline: &mut Pipeline) {
        self.rounds += 1;
        if self.rounds >= LOOK_EVERY {
            self.rounds = 0;
            pipeline.processes_mut().retain(|pid| self.identities.is_alive(pid));
        }
    }
}
