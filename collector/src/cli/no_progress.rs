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

    /// Removes the bar.
    pub(super) const fn finish(&self) {}

    /// Shows a line above the bar.
    pub(super) fn suspend(&self, show: impl FnOnce()) {
        show();
    }
}
