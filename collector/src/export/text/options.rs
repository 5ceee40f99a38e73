//! How a report is shown.

use std::io::{self, Write};

use super::quantity::count;

/// How a report is shown.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// Rows per table.
    pub top: usize,
    /// Columns per line.
    pub width: usize,
    /// Verdicts that are only about queue pairs that are not shown.
    pub hidden_verdicts: usize,
}

impl TextOptions {
    /// Longest path in a line or a table: half of the line.
    pub(super) fn path_width(&self) -> usize {
        self.width / 2
    }

    /// Says how many rows were left out, and which option shows them.
    pub(super) fn write_more(&self, all: usize, out: &mut impl Write) -> io::Result<()> {
        match all.saturating_sub(self.top) {
            0 => Ok(()),
            more => writeln!(out, "and {} more: --top {all}", count(more as u64)),
        }
    }
}
