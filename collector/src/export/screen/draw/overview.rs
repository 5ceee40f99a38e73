//! The overview: who was late and why, the verdicts, the newest training steps.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::Paragraph;

use super::parts::{left_out, rule};
use super::wrap::wrap;
use super::{list, table};
use crate::export::screen::grid::Grid;
use crate::export::screen::view::{iterations, late};
use railscope_core::report::Report;

/// Draws it; the user moves through `verdicts`.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    report: &Report,
    verdicts: &Grid,
    chosen: usize,
) {
    let (late, training) = (late::grid(report), iterations::grid(report));
    let wanted = [table_height(&late, area.width), table_height(&training, area.width)];
    let verdicts_height = |height: u16| match verdicts.rows.is_empty() {
        true => wrap(&verdicts.empty, area.width).len() + 1,
        false => list::height(verdicts, area.width, height.saturating_sub(1)) + 1,
    };
    let [late_lines, verdict_lines, iteration_lines] = share(area.height, wanted, verdicts_height);
    let lines = [late_lines, verdict_lines, iteration_lines].map(Constraint::Length);
    let [late_area, verdicts_area, iterations_area] = Layout::vertical(lines).areas(area);
    panel(frame, late_area, "Late ranks", "3", &late);
    draw_verdicts(frame, verdicts_area, verdicts, chosen);
    panel(frame, iterations_area, "Training steps, newest first", "2", &training);
}

/// Lines for each panel. Late ranks may take a quarter and training steps a third; the verdicts use
/// what they can of the rest; then late ranks and training steps grow.
fn share(height: u16, wanted: [usize; 2], verdicts: impl Fn(u16) -> usize) -> [u16; 3] {
    let lines = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let [late, training] = wanted.map(lines);
    let least_late = late.min((height / 4).max(3)).min(height);
    let least_iterations = training.min(height / 3).min(height - least_late);
    let mut rest = height - least_late - least_iterations;
    let verdict_lines = lines(verdicts(rest)).min(rest);
    rest -= verdict_lines;
    let more_late = (late - least_late).min(rest);
    let more_iterations = (training - least_iterations).min(rest - more_late);
    [least_late + more_late, verdict_lines, least_iterations + more_iterations]
}

/// Lines that a table wants: rule, headings and rows, or rule and sentence.
fn table_height(grid: &Grid, width: u16) -> usize {
    match grid.rows.len() {
        0 => 1 + wrap(&grid.empty, width).len(),
        rows => 2 + rows,
    }
}

fn panel(frame: &mut Frame<'_>, area: Rect, title: &str, key: &str, grid: &Grid) {
    let room = usize::from(area.height.saturating_sub(2));
    let below = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    let columns = match grid.rows.is_empty() {
        true => {
            let lines = wrap(&grid.empty, area.width).join("\n");
            frame.render_widget(Paragraph::new(lines), below);
            0
        }
        false => table::draw(frame, below, grid, None, None),
    };
    let rows = grid.rows.len().saturating_sub(room);
    rule(frame, area, title, &left_out([(rows, "row"), (columns, "column")], key));
}

fn draw_verdicts(frame: &mut Frame<'_>, area: Rect, grid: &Grid, chosen: usize) {
    let room = Rect { height: area.height.saturating_sub(1), ..area };
    let shown = list::fit(grid, chosen, room);
    let left_out = left_out([(shown.left_out, "verdict")], "7");
    let inside = rule(frame, area, "Verdicts", &left_out);
    if grid.rows.is_empty() {
        let lines = wrap(&grid.empty, inside.width).join("\n");
        frame.render_widget(Paragraph::new(lines), inside);
    } else {
        frame.render_widget(Paragraph::new(shown.lines), inside);
    }
}
