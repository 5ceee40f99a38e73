//! Tables without rules: headings, right-aligned numbers, no empty columns.
//!
//! A table that is wider than the line loses its spare columns first, the least needed one at a time.
//! Then text is wrapped between words, and at last columns are dropped from the right. What is not
//! shown is named below the table.

use comfy_table::{Cell, CellAlignment, Table, presets};
use textwrap::core::display_width;

use super::sentence;
use super::style::{Meaning, paint};

/// One column: its heading and its cells, top to bottom.
pub(super) struct Column {
    heading: &'static str,
    alignment: CellAlignment,
    cells: Vec<String>,
    spare: u8,
}

impl Column {
    /// Text, left-aligned.
    pub(super) fn words(heading: &'static str, cells: Vec<String>) -> Self {
        Self { heading, alignment: CellAlignment::Left, cells, spare: 0 }
    }

    /// Numbers, right-aligned.
    pub(super) fn numbers(heading: &'static str, cells: Vec<String>) -> Self {
        Self { alignment: CellAlignment::Right, ..Self::words(heading, cells) }
    }

    /// May be dropped if lines are too long; the highest `rank` goes first.
    pub(super) fn spare(self, rank: u8) -> Self {
        Self { spare: rank, ..self }
    }

    /// Width of its longest line.
    fn width(&self) -> usize {
        let lines = self.cells.iter().flat_map(|cell| cell.lines());
        lines.chain([self.heading]).map(display_width).max().unwrap_or(0)
    }

    /// How much narrower it gets if its cells are wrapped between words.
    fn slack(&self) -> usize {
        if self.alignment != CellAlignment::Left {
            return 0;
        }
        let words = self.cells.iter().flat_map(|cell| sentence::lines(cell, 0, 0));
        let narrowest = words.map(|word| display_width(&word)).max().unwrap_or(0);
        self.width().saturating_sub(narrowest.max(display_width(self.heading)))
    }
}

/// The table in lines of at most `width`; columns with no value in any row are omitted.
pub(super) fn render(mut columns: Vec<Column>, width: usize) -> String {
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let mut dropped = Vec::new();
    loop {
        let plain = layout(&columns);
        let excess = plain.lines().map(display_width).max().unwrap_or(0).saturating_sub(width);
        if excess > 0 && narrow(&mut columns, excess, &mut dropped) {
            continue;
        }
        let mut table = highlight(&plain);
        dropped.retain(|heading| !heading.is_empty());
        if !dropped.is_empty() {
            let note = format!("not shown in {width} columns: {}", dropped.join(", "));
            table = format!("{table}\n{}", sentence::painted(Meaning::Aside, &note, width));
        }
        return table;
    }
}

/// Makes the table narrower, by one column; whether it could.
fn narrow(columns: &mut Vec<Column>, excess: usize, dropped: &mut Vec<&'static str>) -> bool {
    let most_spare = (0..columns.len()).max_by_key(|at| columns[*at].spare);
    if let Some(at) = most_spare.filter(|at| columns[*at].spare > 0) {
        dropped.push(columns.remove(at).heading);
        return true;
    }
    if let Some(column) = columns.iter_mut().max_by_key(|column| column.slack()) {
        let slack = column.slack();
        if slack > 0 {
            let width = column.width() - slack.min(excess);
            for cell in &mut column.cells {
                *cell = sentence::lines(cell, width, 0).join("\n");
            }
            return true;
        }
    }
    if columns.len() > 1 {
        dropped.extend(columns.pop().map(|column| column.heading));
        return true;
    }
    false
}

fn layout(columns: &[Column]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heading = |column: &Column| Cell::new(column.heading).set_alignment(column.alignment);
    table.set_header(columns.iter().map(heading));
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cell = |column: &Column| Cell::new(&column.cells[row]).set_alignment(column.alignment);
        table.add_row(columns.iter().map(cell));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// Painted after the layout, which would count escape sequences as characters.
fn highlight(plain: &str) -> String {
    match plain.split_once('\n') {
        Some((headings, rows)) => format!("{}\n{rows}", paint(Meaning::Heading, headings)),
        None => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize) -> String {
        let column = |cell: &str| vec![cell.to_owned()];
        let columns = vec![
            Column::words("FLOW", column("10.0.0.1 → 10.0.0.2")),
            Column::numbers("BYTES", column("64 KiB")).spare(1),
            Column::numbers("RATE", column("1 Gb/s")).spare(2),
            Column::numbers("NAK", column("3")),
        ];
        let table = render(columns, width);
        let table = anstream::adapter::strip_str(&table).to_string();
        assert!(table.lines().all(|line| display_width(line) <= width), "{table}");
        table
    }

    #[test]
    fn narrow_tables_lose_spare_columns_then_wrap_then_lose_the_last() {
        for (width, start) in [
            (50, "FLOW                  BYTES    RATE  NAK\n"),
            (35, "FLOW                  BYTES  NAK\n"),
            (20, "FLOW        NAK\n10.0.0.1      3\n→ 10.0.0.2\n"),
            (12, "FLOW\n10.0.0.1\n→ 10.0.0.2\n"),
        ] {
            assert!(shown(width).starts_with(start), "{}", shown(width));
        }
        assert!(shown(50).ends_with("3"), "nothing is left out");
        assert!(shown(35).ends_with("\nnot shown in 35 columns: RATE"));
    }
}
