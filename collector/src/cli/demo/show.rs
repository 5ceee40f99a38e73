//! What is shown while the job runs, and what its ranks say.

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
            // The end tells again what cannot be shown now.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        });
    }

    /// How far the job is.
    fn progress(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Takes the bar away.
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

/// What ranks tell, kept and written down.
pub(super) struct Told {
    truth: Truth,
    file: Option<TruthFile>,
    screen: Screen,
}

impl Told {
    pub(super) fn new(file: Option<TruthFile>, screen: Screen) -> Self {
        Self { truth: Truth::default(), file, screen }
    }

    /// All that was told.
    pub(super) fn end(mut self) -> Result<Truth> {
        self.file.as_mut().map_or(Ok(()), TruthFile::flush)?;
        Ok(self.truth)
    }
}

impl Audience for Told {
    fn hear(&mut self, rank: u32, message: Message) -> Result<()> {
        match message {
            // Ranks go in step with each other; one speaks for all.
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
