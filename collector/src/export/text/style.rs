//! Colours by meaning. The output stream removes them if it is not a terminal.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// What a piece of text means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Heading,
    Bad,
    Odd,
    Good,
    Aside,
}

/// `text` in the colour of `meaning`.
pub(super) fn paint(meaning: Meaning, text: impl Display) -> String {
    let style = match meaning {
        Meaning::Heading => Style::new().bold(),
        Meaning::Bad => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
        Meaning::Odd => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        Meaning::Good => Style::new().fg_color(Some(AnsiColor::Green.into())),
        Meaning::Aside => Style::new().dimmed(),
    };
    format!("{style}{text}{style:#}")
}
