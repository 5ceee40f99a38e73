//! Rows in columns: as many columns as fit, the rest counted.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::Modifier;
use ratatui::text::Text;
use ratatui::widgets::{Row, Table, TableState};

use super::parts::color;
use crate::export::screen::grid::{Columns, Grid, Sort};

/// Draws `grid` with the `chosen` row in view; returns the columns that do not fit.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    grid: &Grid,
    sort: Option<Sort>,
    chosen: Option<usize>,
) -> usize {
    let columns = Columns::fit(grid.widths(sort), area.width);
    let left_out = columns.left_out;
    let mut state = TableState::default().with_selected(chosen);
    frame.render_stateful_widget(widget(grid, sort, columns), area, &mut state);
    left_out
}

fn widget(grid: &Grid, sort: Option<Sort>, columns: Columns) -> Table<'static> {
    let places: Vec<usize> = columns.widths.iter().map(|(at, _)| *at).collect();
    let text = |at: usize, text: &str| {
        let is_number = grid.headings.get(at).is_some_and(|heading| heading.is_number);
        let side = if is_number { Alignment::Right } else { Alignment::Left };
        Text::from(text.to_owned()).alignment(side)
    };
    let heading = |at: &usize| {
        let arrow = match sort {
            Some(Sort { column, is_descending: true }) if column == *at => "↓",
            Some(Sort { column, is_descending: false }) if column == *at => "↑",
            _ => "",
        };
        let name = grid.headings.get(*at).map_or("", |heading| heading.name);
        text(*at, &format!("{name}{arrow}"))
    };
    let headings: Vec<Text<'_>> = places.iter().map(heading).collect();
    let rows = grid.rows.iter().map(|row| {
        let cell = |at: &usize| text(*at, row.cells.get(*at).map_or("", |cell| &cell.text));
        Row::new(places.iter().map(cell).collect::<Vec<_>>()).style(color(row.tone))
    });
    let widths = columns.widths.iter().map(|(_, width)| Constraint::Length(*width));
    Table::new(rows.collect::<Vec<_>>(), widths)
        .header(Row::new(headings).style(Modifier::BOLD))
        .column_spacing(columns.spacing)
        .row_highlight_style(Modifier::REVERSED)
}
