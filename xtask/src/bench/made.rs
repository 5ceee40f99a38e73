//! Captures made for one run of the bench.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;

use anyhow::{Context, Result};

/// A capture made for this run.
pub(super) struct Made {
    pub(super) path: PathBuf,
    pub(super) frames: u64,
}

impl Made {
    /// Writes the capture at `path` with `write`, which returns the number of its frames.
    pub(super) fn new(
        path: PathBuf,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<u64>,
    ) -> Result<Self> {
        let make = || -> io::Result<u64> {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
            let frames = write(&mut out)?;
            // Written out now rather than while the tools run.
            out.get_ref().sync_all()?;
            Ok(frames)
        };
        let frames = make().with_context(|| format!("write {}", path.display()))?;
        Ok(Self { path, frames })
    }

    /// Brings the whole file into the page cache: disks are not what is compared.
    pub(super) fn warm(&self) -> Result<()> {
        let read = || io::copy(&mut File::open(&self.path)?, &mut io::sink());
        read().map(drop).with_context(|| format!("read {}", self.path.display()))
    }

    pub(super) fn remove(&self) -> Result<()> {
        // The prefix of a short capture is the capture: it is already gone.
        if self.path.exists() {
            fs::remove_file(&self.path)
                .with_context(|| format!("remove {}", self.path.display()))?;
        }
        Ok(())
    }
}
