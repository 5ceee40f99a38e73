//! `--counters`: reads NIC counters into a pipeline and prints problems to standard error.

use clap::Args;

use super::given::Names;
use super::input::warn;
use super::log_input::{self, TextInput, open_all};
use super::progress::InputProgress;
use super::recognise::{self, InputKind};
use crate::ingest::log::{LogEvent, TextFile};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::pipeline::Pipeline;

/// What is said of a file without counters.
const HINT: &str = "no counters found; expected JSON lines or CSV with time_ns, device and counters, or the \
                    output of ethtool -S, rdma statistic or grep over sysfs";

/// The counter options, as typed.
#[derive(Args)]
pub(super) struct CounterArgs {
    /// NIC counters: sampled over time as JSON lines or CSV, or as ethtool -S, rdma statistic or grep
    /// over sysfs print them; plain, gzip or zstd; may be repeated
    #[arg(long, value_name = "FILE")]
    counters: Vec<String>,
}

/// Files that could be opened.
#[derive(Default)]
pub(super) struct CounterFiles(Vec<TextInput>);

impl CounterArgs {
    /// Adds a file.
    pub(super) fn add(&mut self, file: &str) {
        self.counters.push(file.to_owned());
    }

    pub(super) fn is_given(&self) -> bool {
        !self.counters.is_empty()
    }

    /// Opens every file.
    ///
    /// # Errors
    ///
    /// When a file cannot be opened or was given twice, or a pattern matches no file.
    pub(super) fn open(&self, names: &Names) -> anyhow::Result<CounterFiles> {
        Ok(CounterFiles(open_all(TextFile::Counters, &self.counters, names)?))
    }

    /// As typed.
    pub(super) fn patterns(&self) -> &[String] {
        &self.counters
    }
}

impl CounterFiles {
    /// Reads every file to its end.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        for TextInput { path, name, mut lines } in self.0 {
            if recognise::kind(&path) == InputKind::Log {
                let log = pipeline.add_log(name.clone());
                log_input::read(&name, lines, pipeline, HINT, |pipeline, number, line| {
                    pipeline.handle_log_line(log, number, line)
                });
                continue;
            }
            let file = pipeline.add_counters(name.clone());
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
                        warn(
                            &progress,
                            &format!("{name}: {problem}; the rest of the file was not read"),
                        );
                    }
                }
                progress.tick(|| lines.progress());
            }
            if !has_samples {
                warn(&progress, &format!("{name}: {HINT}"));
            }
            progress.finish();
        }
    }
}
