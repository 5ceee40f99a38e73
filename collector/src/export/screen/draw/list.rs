//! Rows as sentences, wrapped at words beside a short severity.

use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::parts::color;
use super::wrap::wrap;
use crate::export::screen::grid::{Grid, Row};

/// Columns of the severity in front of each row.
const MARGIN: u16 = 5;

/// On screens narrower than this the sentences get every column.
const NARROW: u16 = 40;

/// Part of a list that fits its area.
pub(super) struct Shown {
    pub(super) lines: Vec<Line<'static>>,
    /// Rows that do not fit, above and below.
    pub(super) left_out: usize,
}

/// The rows around the `chosen` one, the first of them with details while these fit.
pub(super) fn fit(grid: &Grid, chosen: usize, area: Rect) -> Shown {
    let detailed = detailed(grid, area.width, area.height);
    window(entries(grid, Some(chosen), area.width, detailed), chosen, area.height)
}

/// The titles of the rows around the `chosen` one.
pub(super) fn titles(grid: &Grid, chosen: usize, area: Rect) -> Shown {
    window(entries(grid, Some(chosen), area.width, 0), chosen, area.height)
}

/// Lines that [`fit`] uses of `height`.
pub(super) fn height(grid: &Grid, width: u16, height: u16) -> usize {
    let detailed = detailed(grid, width, height);
    entries(grid, None, width, detailed).iter().map(Vec::len).sum()
}

/// How many of the first rows can have details beside the titles of all.
fn detailed(grid: &Grid, width: u16, height: u16) -> usize {
    let fits = |rows: &usize| {
        let lines: usize = entries(grid, None, width, *rows).iter().map(Vec::len).sum();
        lines <= usize::from(height)
    };
    (1..=grid.rows.len()).take_while(fits).last().unwrap_or(0)
}

/// Whole rows, from the last start that shows the chosen one.
fn window(entries: Vec<Vec<Line<'static>>>, chosen: usize, height: u16) -> Shown {
    let height = usize::from(height);
    let all = entries.len();
    let mut first = 0;
    while first < chosen
        && entries.iter().take(chosen + 1).skip(first).map(Vec::len).sum::<usize>() > height
    {
        first += 1;
    }
    let (mut lines, mut shown) = (Vec::new(), 0);
    for entry in entries.into_iter().skip(first) {
        // A row higher than the area is cut, so that the chosen one always shows.
        if shown > 0 && lines.len() + entry.len() > height {
            break;
        }
        shown += 1;
        lines.extend(entry);
    }
    lines.truncate(height);
    Shown { lines, left_out: all - shown }
}

fn entries(
    grid: &Grid,
    chosen: Option<usize>,
    width: u16,
    detailed: usize,
) -> Vec<Vec<Line<'static>>> {
    let rows = grid.rows.iter().enumerate();
    rows.map(|(at, row)| entry(row, chosen == Some(at), width, at < detailed)).collect()
}

fn entry(row: &Row, is_chosen: bool, width: u16, has_details: bool) -> Vec<Line<'static>> {
    let mut cells = row.cells.iter().map(|cell| cell.text.as_str());
    let (severity, title) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    let margin = if width < NARROW { 0 } else { MARGIN };
    let space = " ".repeat(usize::from(margin));
    let mark = match severity {
        _ if margin == 0 => String::new(),
        "critical" => "CRIT ".to_owned(),
        "warning" => "WARN ".to_owned(),
        "info" => "INFO ".to_owned(),
        "not checked" => "SKIP ".to_owned(),
        _ => space.clone(),
    };
    let highlight = if is_chosen { Modifier::REVERSED } else { Modifier::empty() };
    let title = wrap(title, width - margin).into_iter().enumerate().map(|(at, text)| {
        let margin = if at == 0 { mark.clone() } else { space.clone() };
        let margin = Span::styled(margin, color(row.tone));
        Line::from(vec![margin, Span::styled(text, color(row.tone).add_modifier(highlight))])
    });
    let detail = wrap(&row.detail, width - margin).into_iter();
    let detail = detail.take(if has_details { usize::MAX } else { 0 });
    title.chain(detail.map(|text| Line::raw(format!("{space}{text}")))).collect()
}
