//! A progress bar on a terminal, for input that takes a while.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ingest::file::event::Progress;

/// Frames between two updates of the bar.
const STRIDE: u32 = 1 << 14;

/// A bar with bytes, rate and time left; hidden if standard error is not a terminal.
pub(super) struct InputProgress {
    bar: ProgressBar,
    until_update: u32,
}

impl InputProgress {
    pub(super) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        bar.set_style(unknown_total());
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, until_update: STRIDE }
    }

    /// No bar.
    pub(super) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), until_update: STRIDE }
    }

    /// Another frame was handled.
    #[inline]
    pub(super) fn tick(&mut self, progress: impl FnOnce() -> Progress) {
        self.until_update -= 1;
        if self.until_update == 0 {
            self.until_update = STRIDE;
            self.update(progress());
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows a line above the bar.
    pub(super) fn suspend(&self, show: impl FnOnce()) {
        self.bar.suspend(show);
    }

    /// Shows the progress.
    #[cold]
    pub(super) fn update(&self, progress: Progress) {
        if let Some(total) = progress.bytes_total
            && self.bar.length() != Some(total)
        {
            self.bar.set_length(total);
            self.bar.set_style(known_total());
        }
        self.bar.set_position(progress.bytes_read);
    }
}

/// The template is fixed and correct; a plain bar would do as well.
fn known_total() -> ProgressStyle {
    ProgressStyle::with_template(
        "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn unknown_total() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {bytes} {binary_bytes_per_sec} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A line that is rewritten while something runs; hidden if standard error is not a terminal.
pub(super) struct StatusLine {
    bar: ProgressBar,
}

impl StatusLine {
    pub(super) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        // The template is fixed and correct.
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// No line.
    pub(super) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    pub(super) fn show(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Shows other lines above it.
    pub(super) fn suspend(&self, show: impl FnOnce()) {
        self.bar.suspend(show);
    }

    /// Removes it.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
