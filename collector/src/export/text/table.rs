//! Tables without rules: headings, right-aligned numbers, no empty columns. Columns are dropped if a
//! line is too long, the least needed first.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::style::{Meaning, paint};

/// Longest line of a report.
pub(super) const LINE_WIDTH: usize = 100;

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
}

/// The table; columns with no value in any row are omitted.
pub(super) fn render(mut columns: Vec<Column>) -> String {
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    loop {
        let plain = layout(&columns);
        let most_spare = (0..columns.len()).max_by_key(|at| columns[*at].spare);
        match most_spare.filter(|at| columns[*at].spare > 0) {
            Some(at) if plain.lines().any(|line| line.chars().count() > LINE_WIDTH) => {
                columns.remove(at);
            }
            _ => return highlight(&plain),
        }
    }
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
