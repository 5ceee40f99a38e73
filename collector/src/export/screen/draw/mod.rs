//! Draws the screen: tabs, what was captured, the view, the keys.

mod help;
mod list;
mod overview;
mod parts;
mod rows;
mod table;
mod wrap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use self::parts::color;
use self::wrap::{wrap, wrap_into};
use super::Screen;
use super::grid::Tone;
use super::view::View;
use railscope_core::report::Report;
use railscope_core::report::words::number::{bytes, count, counted, duration};

/// Most lines of a message.
const MESSAGE_LINES: u16 = 3;

const KEYS: &str = "1-7: view  up down enter: open  /: filter  space: freeze  ?: help  q: quit";

const PAGE_KEYS: &str = "up down: scroll  Esc: back  ?: help  q: quit";

/// Draws tabs, status, the chosen view and the key bar.
pub fn draw(screen: &mut Screen, frame: &mut Frame<'_>) {
    let bottom = bottom(screen, frame.area());
    let lines = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(u16::try_from(bottom.len()).unwrap_or(1)),
    ];
    let [tabs, captured, body, keys] = Layout::vertical(lines).areas(frame.area());
    frame.render_widget(tab_line(screen.view), tabs);
    frame.render_widget(status(screen.shown(), screen.is_frozen), captured);
    draw_body(screen, frame, body);
    frame.render_widget(Paragraph::new(bottom), keys);
    if screen.has_help {
        help::draw(frame);
    }
}

fn draw_body(screen: &mut Screen, frame: &mut Frame<'_>, area: Rect) {
    if let Some(page) = &mut screen.page {
        rows::draw_page(frame, area, page);
        return;
    }
    // Builds the rows where a key or a report changed them.
    screen.grid();
    let (Some(grid), Some(report)) = (&screen.grid, screen.shown()) else {
        frame.render_widget(Paragraph::new("Waiting for packets ..."), area);
        return;
    };
    let chosen = screen.row.min(grid.rows.len().saturating_sub(1));
    if screen.view == View::Overview {
        overview::draw(frame, area, report, grid, chosen);
    } else if grid.rows.is_empty() {
        frame.render_widget(Paragraph::new(wrap(&grid.empty, area.width).join("\n")), area);
    } else {
        rows::draw(frame, area, grid, screen.sort, chosen);
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

/// `4 taps, 96,132 frames, 312 MiB in 12.4 s; 2 warnings`.
fn status(report: Option<&Report>, is_frozen: bool) -> Line<'static> {
    let Some(report) = report else { return Line::default() };
    let mut spans = Vec::new();
    if is_frozen {
        spans.push(Span::styled("FROZEN  ", Style::new().add_modifier(Modifier::BOLD)));
    }
    let capture = &report.capture;
    spans.push(Span::raw(match report.taps.len() as u64 {
        0 => "no captures".to_owned(),
        taps => format!(
            "{}, {}, {} in {}",
            counted(taps, "tap"),
            counted(capture.frames, "frame"),
            bytes(capture.wire_bytes),
            duration(capture.duration_ns)
        ),
    }));
    let lost: u64 = report.taps.iter().map(|tap| tap.lost_frames).sum();
    if lost > 0 {
        let text = format!("; {} lost by the capture", count(lost));
        spans.push(Span::styled(text, color(Tone::Bad)));
    }
    for (severity, noun, tone) in
        [("critical", "critical verdict", Tone::Bad), ("warning", "warning", Tone::Odd)]
    {
        let found = report.verdicts.iter().filter(|one| one.severity == severity).count() as u64;
        if found > 0 {
            spans.push(Span::styled(format!("; {}", counted(found, noun)), color(tone)));
        }
    }
    spans.into()
}

/// The filter, a message, or the keys.
fn bottom(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let dim = |text: String| Line::styled(text, Style::new().add_modifier(Modifier::DIM));
    if screen.is_typing || !screen.filter.is_empty() {
        let cursor = if screen.is_typing { "_" } else { "   (Esc: all rows)" };
        return vec![Line::raw(format!("/{}{cursor}", screen.filter))];
    }
    let text = match (&screen.page, screen.message.as_str()) {
        (Some(_), _) => PAGE_KEYS.to_owned(),
        (None, "") => KEYS.to_owned(),
        (None, message) => format!("{message}   ?: help   q: quit"),
    };
    let lines = (area.height / 6).clamp(1, MESSAGE_LINES);
    wrap_into(&text, area.width, lines).0.into_iter().map(dim).collect()
}
