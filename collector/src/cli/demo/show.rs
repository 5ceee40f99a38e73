//! Output while the job runs, and the messages of its ranks.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::verdict::Truth;
use crate::cli::drive::show::TruthFile;
use railscope_drive::Result;
use railscope_drive::launch::{Audience, Message};

/// Lines on standard output above a bar, from several threads.
#[derive(Clone)]
pub(super) struct Screen {
    bar: Arc<ProgressBar>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { bar: Arc::new(bar()) }
    }

    /// Shows a line.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| {
            let mut out = anstream::stdout().lock();
            // The final report repeats what cannot be shown now.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        });
    }

    /// Updates the bar.
    fn progress(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
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

/// Keeps what ranks report, and writes it to the truth file.
pub(super) struct TruthRecorder {
    truth: Truth,
    file: Option<TruthFile>,
    screen: Screen,
}

impl TruthRecorder {
    pub(super) fn new(file: Option<TruthFile>, screen: Screen) -> Self {
        Self { truth: Truth::default(), file, screen }
    }

    /// Flushes the file; returns everything that the ranks reported.
    pub(super) fn end(mut self) -> Result<Truth> {
        self.file.as_mut().map_or(Ok(()), TruthFile::flush)?;
        Ok(self.truth)
    }
}

impl Audience for TruthRecorder {
    fn hear(&mut self, rank: u32, message: Message) -> Result<()> {
        match message {
            // Ranks run in lockstep; rank 0's progress stands for all.
            Message::Progress { done, total } if rank == 0 => self.screen.progress(done, total),
            Message::Record(record) => {
                self.file.as_mut().map_or(Ok(()), |file| file.write(&record))?;
                self.truth.add(&record);
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.screen.say(text);
    }
}
