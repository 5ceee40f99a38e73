//! Parts of several views: a rule, the count of hidden rows and columns, colours.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders};

use crate::export::screen::grid::Tone;
use railscope_core::report::words::number::counted;

/// A line across `area`, with a title and what does not fit; returns the area below it.
pub(super) fn rule(frame: &mut Frame<'_>, area: Rect, title: &str, left_out: &str) -> Rect {
    let room = usize::from(area.width);
    let framed = |text: &str| if text.is_empty() { String::new() } else { format!(" {text} ") };
    let (title, left_out) = (framed(title), framed(left_out));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut block = Block::new().borders(Borders::TOP);
    // The count matters more than the title.
    if title.chars().count() + left_out.chars().count() <= room {
        block = block.title_top(Line::styled(title, bold));
    }
    block = block.title_top(Line::raw(left_out).alignment(Alignment::Right));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// `+3 rows, +1 column: press 2`; nothing if everything fits.
pub(super) fn left_out<const N: usize>(parts: [(usize, &str); N], key: &str) -> String {
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(number, noun)| format!("+{}", counted(number as u64, noun))).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{}: press {key}", parts.join(", ")),
    }
}

/// The colour of `tone` on the terminal.
pub(super) fn color(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Odd => Style::new().fg(Color::Yellow),
        Tone::Bad => Style::new().fg(Color::Red),
    }
}
