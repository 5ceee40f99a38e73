//! NCCL's logs read to their end: lines to a pipeline, problems to standard error.

use std::path::PathBuf;

use clap::Args;

use super::input::warn;
use super::progress::InputProgress;
use crate::ingest::log::{LogEvent, LogLines, expand};
use crate::pipeline::Pipeline;

/// The log options, as typed.
#[derive(Args)]
pub(super) struct LogArgs {
    /// NCCL's logs (NCCL_DEBUG=INFO), also gzip or zstd; a quoted pattern stands for all files like
    /// it; may be given several times
    #[arg(long, value_name = "FILE")]
    nccl_log: Vec<String>,
}

/// Logs that could be opened.
pub(super) struct Logs(Vec<(PathBuf, LogLines)>);

impl LogArgs {
    /// Opens every log.
    ///
    /// # Errors
    ///
    /// When one cannot be opened, is named twice, or a pattern stands for none.
    pub(super) fn open(&self) -> anyhow::Result<Logs> {
        let mut logs: Vec<(PathBuf, LogLines)> = Vec::new();
        for pattern in &self.nccl_log {
            for path in expand(pattern)? {
                let is_named_before = logs.iter().any(|(named, _)| *named == path);
                anyhow::ensure!(!is_named_before, "log {} is named twice", path.display());
                let lines = LogLines::open(&path)?;
                logs.push((path, lines));
            }
        }
        Ok(Logs(logs))
    }
}

impl Logs {
    /// Reads every log to its end.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        for (path, mut lines) in self.0 {
            let name = path.display();
            let log = pipeline.add_log(name.to_string());
            let mut progress = InputProgress::new();
            let mut has_entries = false;
            while let Some(event) = lines.next_event() {
                match event {
                    LogEvent::Line { number, bytes, is_overlong } => {
                        has_entries |= pipeline.handle_log_line(log, number, bytes);
                        pipeline.add_health("log.overlong_lines", u64::from(is_overlong));
                    }
                    LogEvent::Problem(problem) => {
                        pipeline.add_health("log.file_problems", 1);
                        warn(&progress, &format!("{name}: {problem}; the rest is not read"));
                    }
                }
                progress.tick(|| lines.progress());
            }
            if !has_entries {
                let hint = "was the job run with NCCL_DEBUG=INFO?";
                warn(&progress, &format!("{name}: no line of NCCL in it; {hint}"));
            }
            progress.finish();
        }
    }
}
