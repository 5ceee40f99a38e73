//! Help, on top of everything else.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Paragraph};

const TEXT: &str = "\
1 to 7, tab     choose a view
up down, j k    choose a row; also PageUp, PageDown, Home, End
enter           everything about the row; Esc: back
left right, < > sort by another column
r               reverse the order
/               only rows with some text, or for which a filter
                holds: nak, rank == 3 and ce; Esc: all rows
space           freeze the screen, or go on
q               quit

Red steps: the others waited for a rank. Yellow steps took longer
than usual. docs/reading-the-screen.md explains the columns.
Empty cells are zero or unknown.
Flows and ports count from the start, everything else covers
the window (--window).";

/// Draws it in the middle.
pub(super) fn draw(frame: &mut Frame<'_>) {
    let wide = TEXT.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let (wide, high) = (wide as u16 + 4, TEXT.lines().count() as u16 + 2);
    let all = frame.area();
    let (wide, high) = (wide.min(all.width), high.min(all.height));
    let area = Rect {
        x: all.x + (all.width - wide) / 2,
        y: all.y + (all.height - high) / 2,
        width: wide,
        height: high,
    };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(TEXT).block(Block::bordered().title(" Help ")), area);
}
