//! What NCCL logs for a rank with `NCCL_DEBUG=INFO` and the subsystems INIT, BOOTSTRAP, ENV, NET,
//! GRAPH, TUNING and COLL: the lines about the job, in NCCL's words and order.
//!
//! Lines of libraries that do not exist here (plugins, topology search, tuning tables) are left
//! out.

mod facts;
mod graph;
mod network;
mod work;

use std::fmt::Display;
use std::fs::File;
use std::io::{LineWriter, Write};
use std::path::Path;

pub use facts::{CommFacts, Network, Phase};
pub use work::Work;

use crate::job::Seat;
use crate::release::Release;
use crate::{DriveError, Result};

/// The log of one rank. If it cannot be written, the log stops and the job goes on.
pub struct Log {
    sink: Option<Box<dyn Write + Send>>,
    release: Release,
    /// `host:pid:tid [device] `
    prefix: String,
    network: Option<Network>,
    /// NVML device of every rank, once exchanged.
    devices: Vec<u32>,
}

impl Log {
    /// A log that is discarded.
    #[must_use]
    pub fn off(release: Release) -> Self {
        let (sink, prefix, network, devices) = (None, String::new(), None, Vec::new());
        Self { sink, release, prefix, network, devices }
    }

    /// The log of the rank at `seat`, written to `sink`.
    #[must_use]
    pub fn to(sink: Box<dyn Write + Send>, seat: &Seat, release: Release) -> Self {
        let host = seat.host.split('.').next().unwrap_or_default();
        let pid = std::process::id();
        let prefix = format!("{host}:{pid}:{pid} [{}] ", seat.local_rank);
        Self { sink: Some(sink), prefix, ..Self::off(release) }
    }

    /// The log of the rank at `seat`, in a new file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, seat: &Seat, release: Release) -> Result<Self> {
        let file = File::create(path);
        let file = file.map_err(DriveError::io(format!("create {}", path.display())))?;
        Ok(Self::to(Box::new(LineWriter::new(file)), seat, release))
    }

    fn info(&mut self, message: impl Display) {
        let Self { sink: Some(sink), prefix, .. } = self else { return };
        if writeln!(sink, "{prefix}NCCL INFO {message}").is_err() {
            self.sink = None;
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
