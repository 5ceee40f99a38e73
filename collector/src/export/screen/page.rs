//! One row at full length, on the whole screen.

use super::grid::Grid;
use super::key::Key;

/// Lines that `PageUp` and `PageDown` move.
const LEAP: usize = 10;

/// The text of one row, as it was when the page was opened: newer reports do not move it.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) text: String,
    /// Lines above the screen.
    pub(super) top: usize,
}

impl Page {
    /// Everything about one row: its detail, then every column that holds something.
    pub(super) fn of_row(grid: &Grid, at: usize) -> Option<Self> {
        let row = grid.rows.get(at)?;
        let text = if grid.is_list {
            let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
            format!("{}\n\n{}", cells.join(": "), row.detail)
        } else {
            let columns = grid.headings.iter().zip(&row.cells);
            let filled = columns.filter(|(_, cell)| !cell.text.is_empty());
            let lines = filled.map(|(heading, cell)| format!("{}: {}", heading.name, cell.text));
            format!("{}\n\n{}", row.detail, lines.collect::<Vec<_>>().join("\n"))
        };
        Some(Self { text, top: 0 })
    }

    /// Scrolls; whether the page stays open.
    pub(super) fn press(&mut self, key: Key) -> bool {
        self.top = match key {
            Key::Char('j') | Key::Down => self.top.saturating_add(1),
            Key::Char('k') | Key::Up => self.top.saturating_sub(1),
            Key::Char(' ') | Key::PageDown => self.top.saturating_add(LEAP),
            Key::PageUp => self.top.saturating_sub(LEAP),
            Key::Char('g') | Key::Home => 0,
            Key::Char('G') | Key::End => usize::MAX,
            _ => return false,
        };
        true
    }
}
