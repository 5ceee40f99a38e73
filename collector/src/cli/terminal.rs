//! The terminal that text is written for: its width and height.

use std::env;
use std::io;

use terminal_size::{Height, Width, terminal_size_of};

/// Line width where no terminal decides: two windows fit side by side.
const DEFAULT_WIDTH: usize = 100;

/// No table is readable below this.
const NARROWEST: usize = 40;

/// Columns per line: `COLUMNS` if set, else those of the terminal, else [`DEFAULT_WIDTH`].
#[expect(clippy::disallowed_methods, reason = "cli reads the environment, once")]
pub(super) fn width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let terminal = || terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into());
    columns.filter(|columns| *columns > 0).or_else(terminal).unwrap_or(DEFAULT_WIDTH).max(NARROWEST)
}

/// Lines of the terminal; `None` if standard output is not a terminal.
pub(super) fn height() -> Option<usize> {
    terminal_size_of(io::stdout()).map(|(_, Height(lines))| lines.into())
}
