//! Sentences, wrapped between words.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::style::{Meaning, paint};
use super::table::LINE_WIDTH;

/// Spaces in front of every line.
const INDENT: usize = 2;

/// `text` after a bullet in the colour of `meaning`.
pub(super) fn bullet(meaning: Meaning, text: &str) -> String {
    format!("{} {}", paint(meaning, "●"), lines(text).join("\n  "))
}

/// `text`, indented and dimmed.
pub(super) fn aside(text: &str) -> String {
    let lines = lines(text).into_iter();
    lines.map(|line| format!("  {}", paint(Meaning::Aside, &line))).collect::<Vec<_>>().join("\n")
}

/// `text`, indented; continuation lines are indented once more.
pub(super) fn note(text: &str) -> String {
    format!("  {}", lines(text).join("\n    "))
}

fn lines(text: &str) -> Vec<Cow<'_, str>> {
    // Room for the second indent of notes. Names, addresses and numbers are never broken.
    let options = Options::new(LINE_WIDTH - 2 * INDENT)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = vec!["word"; 30].join(" ");
        let shown = note(&text);
        assert!(shown.lines().all(|line| line.chars().count() <= LINE_WIDTH), "{shown}");
        assert_eq!(shown.split_whitespace().count(), 30);
        assert_eq!(note("short"), "  short");
        assert_eq!(note(""), "  ");
        let address = "fd00::1/".repeat(20);
        assert_eq!(note(&format!("at {address}")), format!("  at\n    {address}"));
    }
}
