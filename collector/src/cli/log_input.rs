//! `--nccl-log`: reads NCCL's logs into a pipeline and prints problems to standard error. Training
//! logs are opened and read by the same functions.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::given::Names;
use super::input::warn;
use super::progress::InputProgress;
use super::recognise;
use crate::ingest::log::{LogEvent, LogLines, TextFile, expand};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::pipeline::Pipeline;

/// The log options, as typed.
#[derive(Args)]
pub(super) struct LogArgs {
    /// NCCL logs (NCCL_DEBUG=INFO), plain, gzip or zstd; a quoted pattern matches several files; may
    /// be repeated
    #[arg(long, value_name = "FILE")]
    nccl_log: Vec<String>,
}

/// Logs that could be opened.
pub(super) struct Logs(Vec<TextInput>);

/// A text file that could be opened.
pub(super) struct TextInput {
    pub(super) path: PathBuf,
    /// What the report calls it.
    pub(super) name: String,
    pub(super) lines: LogLines,
}

impl LogArgs {
    /// Adds a file.
    pub(super) fn add(&mut self, file: &str) {
        self.nccl_log.push(file.to_owned());
    }

    pub(super) fn is_given(&self) -> bool {
        !self.nccl_log.is_empty()
    }

    /// Opens every log.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or was given twice, or a pattern matches no file.
    pub(super) fn open(&self, names: &Names) -> anyhow::Result<Logs> {
        Ok(Logs(open_all(TextFile::Log, &self.nccl_log, names)?))
    }

    /// As typed.
    pub(super) fn patterns(&self) -> &[String] {
        &self.nccl_log
    }
}

/// Opens every file that the patterns match.
///
/// # Errors
///
/// When a file cannot be opened or was given twice, or a pattern matches no file.
pub(super) fn open_all(
    kind: TextFile,
    patterns: &[String],
    names: &Names,
) -> anyhow::Result<Vec<TextInput>> {
    let mut logs = Vec::new();
    let mut named = BTreeSet::new();
    for pattern in patterns {
        for path in expand(kind, pattern)? {
            anyhow::ensure!(
                named.insert(path.clone()),
                "{kind} {} was given twice: name each file once",
                path.display()
            );
            let lines = LogLines::open(kind, &path)?;
            let name = names.of(&path).into_owned();
            logs.push(TextInput { path, name, lines });
        }
    }
    Ok(logs)
}

/// Reads a log to its end. `handle` returns whether it recognises a line; if it recognises none, `hint`
/// is printed.
pub(super) fn read(
    name: &str,
    mut lines: LogLines,
    pipeline: &mut Pipeline,
    hint: &str,
    mut handle: impl FnMut(&mut Pipeline, u64, &[u8]) -> bool,
) {
    let mut progress = InputProgress::new();
    let mut is_known = false;
    while let Some(event) = lines.next_event() {
        match event {
            LogEvent::Line { number, bytes, is_overlong } => {
                is_known |= handle(pipeline, number, bytes);
                pipeline.add_health(HealthEvent::LogOverlongLines, u64::from(is_overlong));
            }
            LogEvent::Problem(problem) => {
                pipeline.add_health(HealthEvent::LogFileProblems, 1);
                warn(&progress, &format!("{name}: {problem}; the rest of the log was not read"));
            }
        }
        progress.tick(|| lines.progress());
    }
    if !is_known {
        warn(&progress, &format!("{name}: {hint}"));
    }
    progress.finish();
}

impl Logs {
    /// Reads every log to its end.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        for TextInput { path, name, lines } in self.0 {
            let hint = if recognise::is_document(&path) {
                "railscope wrote this file, and does not analyze it again: name what it was made from. \
                 `railscope compare` reads reports"
            } else {
                "no line was recognised; run the job with NCCL_DEBUG=INFO"
            };
            let log = pipeline.add_log(name.clone());
            read(&name, lines, pipeline, hint, |pipeline, number, line| {
                pipeline.handle_log_line(log, number, line)
            });
        }
    }
}
