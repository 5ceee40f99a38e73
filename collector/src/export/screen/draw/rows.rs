//! The rows of a view, with the detail of the chosen one below; or that row as a page.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::parts::{left_out, rule};
use super::wrap::{wrap, wrap_into};
use super::{list, table};
use crate::export::screen::grid::{Grid, Sort};
use crate::export::screen::page::Page;
use railscope_core::report::words::number::count;

/// Least lines of the detail, with its rule.
const DETAIL_LINES: u16 = 5;

/// Draws rows and detail; what does not fit is counted on the rule between them.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    grid: &Grid,
    sort: Option<Sort>,
    chosen: usize,
) {
    // Sentences have more to add than tables, whose rows hold most of it.
    let part = if grid.is_list { 2 } else { 4 };
    let high = (area.height / part).max(DETAIL_LINES).min(area.height / 2);
    let [above, below] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(high)]).areas(area);
    let columns_left_out = if grid.is_list {
        frame.render_widget(Paragraph::new(list::titles(grid, chosen, above).lines), above);
        0
    } else {
        table::draw(frame, above, grid, sort, Some(chosen))
    };
    let detail = grid.rows.get(chosen).map_or("", |row| row.detail.as_str());
    let (lines, lines_left_out) = wrap_into(detail, below.width, below.height.saturating_sub(1));
    let position = format!("{} of {}", count(chosen as u64 + 1), count(grid.rows.len() as u64));
    let left_out = left_out([(columns_left_out, "column"), (lines_left_out, "line")], "enter");
    let inside = rule(frame, below, &position, &left_out);
    frame.render_widget(Paragraph::new(lines.join("\n")), inside);
}

/// Draws the text of one row; lines below the screen are counted.
pub(super) fn draw_page(frame: &mut Frame<'_>, area: Rect, page: &mut Page) {
    let lines = wrap(&page.text, area.width);
    let below = lines.len().saturating_sub(usize::from(area.height.saturating_sub(1)));
    page.top = page.top.min(below);
    let left_out = left_out([(below - page.top, "line")], "down");
    let inside = rule(frame, area, "", &left_out);
    let lines = lines.into_iter().skip(page.top).map(Line::raw);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inside);
}
