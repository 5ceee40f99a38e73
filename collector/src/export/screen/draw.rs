//! A screen drawn: tables by name, what was seen, one table, what is told of its chosen row, keys.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Row, Table, TableState, Wrap};

use super::Screen;
use super::grid::{Columns, Grid, Sort, Tone};
use super::view::View;
use railscope_core::report::Report;
use railscope_core::report::words::number::{bytes, count, counted, duration};

/// Lines for what is told of the chosen row.
const DETAIL_LINES: u16 = 5;

const KEYS: &str = "1-6 tab: table   < > r: sort   /: filter   space: freeze   ?: help   q: quit";

const HELP: &str = "\
1 to 6, tab     which table
up down, j k    choose a row; PageUp, PageDown, Home, End
left right, < > sort by another column
r               the other way round
/               show rows that have some text; Esc: all
space           freeze what is shown, go on
q               quit

A training step is red where a rank kept the others waiting, yellow
where it took longer than usual. What is empty is none or unknown.
Tables hold what the window of time has; flows and ports count from
the beginning.";

/// Draws `screen`.
pub fn draw(screen: &mut Screen, frame: &mut Frame<'_>) {
    let lines = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(DETAIL_LINES),
        Constraint::Length(1),
    ];
    let [tabs, seen, table, detail, keys] = Layout::vertical(lines).areas(frame.area());
    frame.render_widget(tab_line(screen.view), tabs);
    let mut status = status(screen.shown(), screen.is_frozen);
    let (row, sort) = (screen.row, screen.sort);
    match screen.grid() {
        None => frame.render_widget(Paragraph::new("waiting for packets ..."), table),
        Some(grid) if grid.rows.is_empty() => {
            frame.render_widget(Paragraph::new(grid.empty.as_str()), table);
        }
        Some(grid) => {
            let chosen = row.min(grid.rows.len() - 1);
            let mut state = TableState::default().with_selected(chosen);
            let columns = Columns::fit(grid.widths(sort), table.width);
            if columns.left_out > 0 {
                let left_out = counted(columns.left_out as u64, "column");
                status.push_span(Span::raw(format!("; {left_out} more in a wider window")));
            }
            frame.render_stateful_widget(table_widget(grid, sort, columns), table, &mut state);
            let told = grid.rows.get(chosen).map_or("", |row| row.detail.as_str());
            let told = Paragraph::new(told).wrap(Wrap { trim: true });
            frame.render_widget(told.block(Block::new().borders(Borders::TOP)), detail);
        }
    }
    frame.render_widget(Paragraph::new(status), seen);
    frame.render_widget(bottom(screen), keys);
    if screen.has_help {
        help(frame);
    }
}

fn tab_line(shown: View) -> Line<'static> {
    let tabs = (1..).zip(View::ALL).flat_map(|(number, view)| {
        let style = match view == shown {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        [Span::styled(format!(" {number} {} ", view.title()), style), Span::raw(" ")]
    });
    tabs.collect::<Vec<_>>().into()
}

/// `4 taps, 96,132 frames, 312 MiB in 12.4 s; 2 findings`.
fn status(report: Option<&Report>, is_frozen: bool) -> Line<'static> {
    let Some(report) = report else { return Line::default() };
    let capture = &report.capture;
    let lost: u64 = report.taps.iter().map(|tap| tap.lost_frames).sum();
    let bad = report.findings.iter().filter(|one| one.severity != "info").count() as u64;
    let mut spans = vec![Span::raw(format!(
        "{}, {}, {} in {}",
        counted(report.taps.len() as u64, "tap"),
        counted(capture.frames, "frame"),
        bytes(capture.wire_bytes),
        duration(capture.duration_ns)
    ))];
    if bad > 0 {
        let text = format!("; {}", counted(bad, "finding"));
        spans.push(Span::styled(text, color(Tone::Bad)));
    }
    if lost > 0 {
        spans.push(Span::styled(format!("; {} lost", count(lost)), color(Tone::Bad)));
    }
    if is_frozen {
        spans.push(Span::styled("  FROZEN", Style::new().add_modifier(Modifier::BOLD)));
    }
    spans.into()
}

fn table_widget(grid: &Grid, sort: Option<Sort>, columns: Columns) -> Table<'static> {
    let shown = columns.widths.len();
    let text = |at: usize, text: String| {
        let is_number = grid.headings.get(at).is_some_and(|heading| heading.is_number);
        let side = if is_number { Alignment::Right } else { Alignment::Left };
        Text::from(text).alignment(side)
    };
    let headings = grid.headings.iter().take(shown).enumerate().map(|(at, heading)| {
        let arrow = match sort {
            Some(Sort { column, is_descending }) if column == at => {
                if is_descending {
                    "↓"
                } else {
                    "↑"
                }
            }
            _ => "",
        };
        text(at, format!("{}{arrow}", heading.name))
    });
    let rows = grid.rows.iter().map(|row| {
        let cells =
            row.cells.iter().take(shown).enumerate().map(|(at, cell)| text(at, cell.text.clone()));
        Row::new(cells.collect::<Vec<_>>()).style(color(row.tone))
    });
    let widths = columns.widths.into_iter().map(Constraint::Length);
    Table::new(rows.collect::<Vec<_>>(), widths)
        .header(Row::new(headings.collect::<Vec<_>>()).style(Modifier::BOLD))
        .column_spacing(columns.spacing)
        .row_highlight_style(Modifier::REVERSED)
}

fn color(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Odd => Style::new().fg(Color::Yellow),
        Tone::Bad => Style::new().fg(Color::Red),
    }
}

fn bottom(screen: &Screen) -> Line<'static> {
    let dim = Style::new().add_modifier(Modifier::DIM);
    if screen.is_typing || !screen.filter.is_empty() {
        let cursor = if screen.is_typing { "_" } else { "   (Esc: all rows)" };
        return Line::raw(format!("/{}{cursor}", screen.filter));
    }
    match screen.saying.as_str() {
        "" => Line::styled(KEYS, dim),
        saying => Line::styled(format!("{saying}   ?: help   q: quit"), dim),
    }
}

fn help(frame: &mut Frame<'_>) {
    let wide = HELP.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let (wide, high) = (wide as u16 + 4, HELP.lines().count() as u16 + 2);
    let all = frame.area();
    let (wide, high) = (wide.min(all.width), high.min(all.height));
    let area = Rect {
        x: all.x + (all.width - wide) / 2,
        y: all.y + (all.height - high) / 2,
        width: wide,
        height: high,
    };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" Help ")), area);
}
