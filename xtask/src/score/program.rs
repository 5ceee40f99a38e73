//! Runs railscope on a recorded job blind: neither the names nor the order of the files show what is in
//! them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::report::Report;
use crate::clock::timed;
use crate::recording::Recording;
use crate::repository::{command, root};

/// A recording's captures and logs under neutral names. Dropping this deletes the files.
pub(super) struct Unnamed {
    folder: PathBuf,
    captures: Vec<PathBuf>,
    logs: Vec<PathBuf>,
}

impl Unnamed {
    pub(super) fn new(recording: &Recording) -> Result<Self> {
        let name = format!("{:08x}", crc32fast::hash(recording.truth()));
        let folder = root().join("target/score").join(name);
        let write = || -> io::Result<Self> {
            fs::create_dir_all(&folder)?;
            let captures = recording.captures().map(|(_, bytes)| bytes);
            let captures = write_shuffled(&folder, "capture", captures)?;
            let logs = write_shuffled(&folder, "log", recording.logs())?;
            Ok(Self { folder: folder.clone(), captures, logs })
        };
        write().with_context(|| format!("write into {}", folder.display()))
    }

    /// The report of `railscope`, and the seconds that it took.
    pub(super) fn analyze(&self, railscope: &Path, with_logs: bool) -> Result<(Report, f64)> {
        let mut analyze = command(railscope);
        analyze.args(["analyze", "--format", "json"]).args(&self.captures);
        for log in self.logs.iter().filter(|_| with_logs) {
            analyze.arg("--nccl-log").arg(log);
        }
        analyze.stdin(Stdio::null()).stderr(Stdio::piped());
        let (output, seconds) = timed(|| analyze.output());
        let output = output.with_context(|| format!("start {}", railscope.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{analyze:?}: {}: {}", output.status, said.trim());
        let report = serde_json::from_slice(&output.stdout).context("parse the report")?;
        Ok((report, seconds))
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        // Leftovers are in the build folder, and the next run overwrites them.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes `files` in an order that depends on their content only.
fn write_shuffled<'a>(
    folder: &Path,
    kind: &str,
    files: impl Iterator<Item = &'a [u8]>,
) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<&[u8]> = files.collect();
    files.sort_by_key(|bytes| crc32fast::hash(bytes));
    let write = |(number, bytes)| {
        let path = folder.join(format!("{kind}-{number}"));
        fs::write(&path, bytes).map(|()| path)
    };
    files.into_iter().enumerate().map(write).collect()
}
