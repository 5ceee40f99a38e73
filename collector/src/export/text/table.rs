//! Tables without lines: a heading, right-aligned numbers, columns that hold nothing left out.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::style::{Meaning, paint};

/// One column: its heading and its cells, top to bottom.
pub(super) struct Column {
    heading: &'static str,
    alignment: CellAlignment,
    cells: Vec<String>,
    is_optional: bool,
}

impl Column {
    /// Words, to the left.
    pub(super) fn words(heading: &'static str, cells: Vec<String>) -> Self {
        Self { heading, alignment: CellAlignment::Left, cells, is_optional: false }
    }

    /// Numbers, to the right.
    pub(super) fn numbers(heading: &'static str, cells: Vec<String>) -> Self {
        Self { heading, alignment: CellAlignment::Right, cells, is_optional: false }
    }

    /// Numbers, to the right; the column is left out when all of its cells are empty.
    pub(super) fn optional(heading: &'static str, cells: Vec<String>) -> Self {
        Self { heading, alignment: CellAlignment::Right, cells, is_optional: true }
    }
}

/// The columns side by side, headings first.
pub(super) fn render(columns: Vec<Column>) -> String {
    let shown: Vec<Column> = columns
        .into_iter()
        .filter(|column| !column.is_optional || column.cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heading = |column: &Column| Cell::new(column.heading).set_alignment(column.alignment);
    table.set_header(shown.iter().map(heading));
    let rows = shown.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cell = |column: &Column| Cell::new(&column.cells[row]).set_alignment(column.alignment);
        table.add_row(shown.iter().map(cell));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    // Painted afterwards: colours have no width.
    let plain = table.trim_fmt();
    match plain.split_once('\n') {
        Some((headings, rows)) => format!("{}\n{rows}", paint(Meaning::Heading, headings)),
        None => plain,
    }
}
