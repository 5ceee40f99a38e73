//! Builds without progress bars: nothing is shown while input is read.

use crate::ingest::file::event::Progress;

/// Stands for a bar.
pub(super) struct InputProgress;

impl InputProgress {
    pub(super) const fn new() -> Self {
        Self
    }

    /// No bar.
    pub(super) const fn hidden() -> Self {
        Self
    }

    /// Another frame was handled.
    #[inline]
    pub(super) fn tick(&mut self, _progress: impl FnOnce() -> Progress) {}

    /// So much was read.
    pub(super) const fn update(&self, _: Progress) {}

    /// Removes the bar.
    pub(super) const fn finish(&self) {}

    /// Shows a line above the bar.
    pub(super) fn suspend(&self, show: impl FnOnce()) {
        show();
    }
}

/// Stands for a line.
pub(super) struct StatusLine;

impl StatusLine {
    pub(super) const fn new() -> Self {
        Self
    }

    /// No line.
    pub(super) const fn hidden() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with a line")]
    pub(super) fn show(&self, _: String) {}

    #[expect(clippy::unused_self, reason = "as with a line")]
    pub(super) fn suspend(&self, show: impl FnOnce()) {
        show();
    }

    #[expect(clippy::unused_self, reason = "as with a line")]
    pub(super) const fn finish(&self) {}
}
