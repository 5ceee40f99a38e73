//! Tables without lines: a heading, right-aligned numbers, columns that hold nothing left out.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

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

/// The columns side by side, within `width` columns of the screen.
pub(super) fn render(columns: Vec<Column>, width: u16) -> String {
    let shown: Vec<Column> = columns
        .into_iter()
        .filter(|column| !column.is_optional || column.cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let headings = shown.iter().map(|column| {
        Cell::new(paint(Meaning::Heading, column.heading)).set_alignment(column.alignment)
    });
    table.set_header(headings);
    let rows = shown.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        table.add_row(shown.iter().map(|column| {
            Cell::new(&column.cells[row]).set_alignment(column.alignment)
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}
