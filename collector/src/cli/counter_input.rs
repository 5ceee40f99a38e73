//! NIC counters read to their end: lines to a pipeline, problems to standard error.

use std::path::PathBuf;

use clap::Args;

use super::input::warn;
use super::progress::InputProgress;
use crate::ingest::log::{LogEvent, LogLines, expand};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::pipeline::Pipeline;

/// The counter options, as typed.
#[derive(Args)]
pub(super) struct CounterArgs {
    /// Time lines of NIC counters (ethtool -S, sysfs hw_counters), JSON lines or CSV, also gzip or
    /// zstd; may be given several times
    #[arg(long, value_name = "FILE")]
    counters: Vec<String>,
}

/// Files that could be opened.
#[derive(Default)]
pub(super) struct CounterFiles(Vec<(PathBuf, LogLines)>);

impl CounterArgs {
    /// Opens every file.
    ///
    /// # Errors
    ///
    /// When one cannot be opened, is named twice, or a pattern stands for none.
    pub(super) fn open(&self) -> anyhow::Result<CounterFiles> {
        let mut files: Vec<(PathBuf, LogLines)> = Vec::new();
        for pattern in &self.counters {
            for path in expand(pattern)? {
                let is_named_before = files.iter().any(|(named, _)| *named == path);
                anyhow::ensure!(!is_named_before, "{} is named twice", path.display());
                let lines = LogLines::open(&path)?;
                files.push((path, lines));
            }
        }
        Ok(CounterFiles(files))
    }
}

impl CounterFiles {
    /// Reads every file to its end.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        for (path, mut lines) in self.0 {
            let name = path.display();
            let file = pipeline.add_counters(name.to_string());
            let mut progress = InputProgress::new();
            let mut has_samples = false;
            while let Some(event) = lines.next_event() {
                match event {
                    LogEvent::Line { number, bytes, is_overlong } => {
                        has_samples |= pipeline.handle_counter_line(file, number, bytes);
                        pipeline
                            .add_health(HealthEvent::CounterOverlongLines, u64::from(is_overlong));
                    }
                    LogEvent::Problem(problem) => {
                        pipeline.add_health(HealthEvent::CounterFileProblems, 1);
                        warn(&progress, &format!("{name}: {problem}; the rest is not read"));
                    }
                }
                progress.tick(|| lines.progress());
            }
            if !has_samples {
                let hint = "JSON lines or CSV with time_ns, device and counters are";
                warn(&progress, &format!("{name}: no sample of counters in it; {hint}"));
            }
            progress.finish();
        }
    }
}
