//! Output while ranks run: the growing table, a progress bar, and the truth file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::telemetry::Telemetry;
use crate::cli::notice::notice;
use railscope_drive::launch::{Audience, Message, Outcome};
use railscope_drive::table::{Document, Table, write_document};
use railscope_drive::truth::Record;
use railscope_drive::{self, DriveError};

/// Receives the messages of a job.
pub(super) struct Show {
    table: Table,
    truth: Option<TruthFile>,
    telemetry: Option<Telemetry>,
    bar: ProgressBar,
}

impl Show {
    pub(super) fn new(
        table: Table,
        truth: Option<TruthFile>,
        telemetry: Option<Telemetry>,
    ) -> Self {
        Self { table, truth, telemetry, bar: bar() }
    }

    /// Shows new lines of the table.
    pub(super) fn show(&mut self) -> io::Result<()> {
        let text = self.table.take_text();
        if text.is_empty() {
            return Ok(());
        }
        self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    /// The job is over, and this is still to be finished.
    pub(super) fn take_telemetry(&mut self) -> Option<Telemetry> {
        self.telemetry.take()
    }

    /// Shows the rest; the table is complete afterwards.
    pub(super) fn end(mut self, outcome: &Outcome) -> anyhow::Result<Table> {
        self.bar.finish_and_clear();
        self.table.end(outcome);
        self.show().context("write to standard output")?;
        if let Some(truth) = &mut self.truth {
            truth.flush()?;
        }
        Ok(self.table)
    }
}

impl Audience for Show {
    fn hear(&mut self, rank: u32, message: Message) -> railscope_drive::Result<()> {
        match message {
            // Ranks run in lockstep; rank 0's progress stands for all.
            Message::Progress { done, total } if rank == 0 => {
                self.bar.set_length(total);
                self.bar.set_position(done);
            }
            Message::Progress { .. } | Message::Failed(_) | Message::Finished => {}
            Message::Measured(measure) => {
                self.table.results_mut().measured(rank, &measure);
                self.table.update();
            }
            Message::Iteration(iteration) => self.table.results_mut().iteration(rank, &iteration),
            Message::Record(record) => {
                if let Some(truth) = &mut self.truth {
                    truth.write(&record)?;
                }
                if let Some(telemetry) = &mut self.telemetry {
                    telemetry.observe(&record);
                }
                if let Record::Rank(rank) = *record {
                    self.table.introduce(rank);
                }
            }
        }
        self.show().map_err(DriveError::io("write to standard output"))
    }

    fn note(&mut self, text: &str) {
        self.bar.suspend(|| notice(text));
    }
}

fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} collectives {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Appends records to a truth file.
pub(in crate::cli) struct TruthFile {
    name: String,
    out: BufWriter<File>,
    has_job: bool,
}

impl TruthFile {
    pub(in crate::cli) fn create(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = create(path)?;
        Ok(Self { name, out: BufWriter::new(file), has_job: false })
    }

    /// Every rank reports the job first; the file has it once.
    pub(in crate::cli) fn write(&mut self, record: &Record) -> railscope_drive::Result<()> {
        if matches!(record, Record::Job(_)) && std::mem::replace(&mut self.has_job, true) {
            return Ok(());
        }
        let written = serde_json::to_writer(&mut self.out, record).map_err(io::Error::from);
        let written = written.and_then(|()| self.out.write_all(b"\n"));
        written.map_err(DriveError::io(format!("write {}", self.name)))
    }

    pub(in crate::cli) fn flush(&mut self) -> railscope_drive::Result<()> {
        self.out.flush().map_err(DriveError::io(format!("write {}", self.name)))
    }
}

/// File of the JSON document, created before the job so that a wrong path fails at once.
pub(super) struct JsonFile {
    name: String,
    file: File,
}

impl JsonFile {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { name: path.display().to_string(), file: create(path)? })
    }

    pub(super) fn write(self, document: &Document) -> anyhow::Result<()> {
        let mut out = BufWriter::new(self.file);
        write_document(document, &mut out).with_context(|| format!("write {}", self.name))
    }
}

fn create(path: &Path) -> anyhow::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Creates a folder, unless it exists.
pub(in crate::cli) fn make_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    let failed = || format!("cannot create folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(failed)
}
