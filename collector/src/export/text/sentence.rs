//! Sentences, wrapped between words.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::style::{Meaning, paint};

/// Spaces in front of every indented line.
const INDENT: usize = 2;

/// Stands for a space at which no line may end, while lines are wrapped.
const NO_BREAK: char = '\u{a0}';

/// Units that stay on the line of their number.
const UNITS: &[&str] = &[
    "%", "B", "KiB", "MiB", "GiB", "TiB", "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "B/s", "kB/s",
    "MB/s", "GB/s", "TB/s", "ns", "us", "ms", "s", "ppm",
];

/// `text` after a bullet in the colour of `meaning`.
pub(super) fn bullet(meaning: Meaning, text: &str, width: usize) -> String {
    format!("{} {}", paint(meaning, "●"), lines(text, width, INDENT).join("\n  "))
}

/// `text`, indented and dimmed.
pub(super) fn aside(text: &str, width: usize) -> String {
    let lines = lines(text, width, INDENT).into_iter();
    lines.map(|line| format!("  {}", paint(Meaning::Aside, line))).collect::<Vec<_>>().join("\n")
}

/// `text`, indented twice and dimmed.
pub(super) fn place(text: &str, width: usize) -> String {
    let lines = lines(text, width, 2 * INDENT).into_iter();
    lines.map(|line| format!("    {}", paint(Meaning::Aside, line))).collect::<Vec<_>>().join("\n")
}

/// `text`, indented; continuation lines are indented once more.
pub(super) fn note(text: &str, width: usize) -> String {
    format!("  {}", lines(text, width, 2 * INDENT).join("\n    "))
}

/// `text`, flush left; continuation lines are indented.
pub(super) fn line(text: &str, width: usize) -> String {
    lines(text, width, INDENT).join("\n  ")
}

/// `text`, flush left, in the colour of `meaning`.
pub(super) fn painted(meaning: Meaning, text: &str, width: usize) -> String {
    let lines = lines(text, width, 0).into_iter();
    lines.map(|line| paint(meaning, line)).collect::<Vec<_>>().join("\n")
}

/// A heading and `text` behind it, or below it if both do not fit the line.
pub(super) fn titled(title: &str, text: &str, width: usize) -> String {
    let gap = "  ";
    if textwrap::core::display_width(title) + gap.len() + textwrap::core::display_width(text)
        <= width
    {
        return format!("{}{gap}{text}", paint(Meaning::Heading, title));
    }
    format!("{}\n{}", painted(Meaning::Heading, title, width), note(text, width))
}

/// `text` in lines that fit `width` less `indent`. Longer words, such as paths, are not broken.
pub(super) fn lines(text: &str, width: usize, indent: usize) -> Vec<String> {
    let options = Options::new(width.saturating_sub(indent))
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = bound(text);
    textwrap::wrap(&text, options).iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// `text` with [`NO_BREAK`] between numbers and units, and between an arrow and where it points.
fn bound(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    let mut before = "";
    for (at, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
        if at > 0 {
            let is_unit = before.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit);
            bound.push(if is_unit || before.ends_with('→') { NO_BREAK } else { ' ' });
        }
        bound.push_str(word);
        before = word;
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = vec!["word"; 30].join(" ");
        let shown = note(&text, 60);
        assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
        assert_eq!(shown.split_whitespace().count(), 30);
        assert_eq!(note("short", 60), "  short");
        assert_eq!(note("", 60), "  ");
        let address = "fd00::1/".repeat(20);
        assert_eq!(note(&format!("at {address}"), 60), format!("  at\n    {address}"));
    }

    #[test]
    fn units_stay_with_their_numbers_and_arrows_with_what_they_point_at() {
        assert_eq!(lines("10.0.0.1 → 10.0.0.2", 12, 0), ["10.0.0.1", "→ 10.0.0.2"]);
        assert_eq!(line("recovery took 72.5 ms", 20), "recovery took\n  72.5 ms");
        assert_eq!(line("packets (31.1 %), or so", 16), "packets\n  (31.1 %), or\n  so");
    }

    #[test]
    fn a_title_that_fills_the_line_stands_alone() {
        assert_eq!(
            titled("a.pcap", "2 frames", 20),
            paint(Meaning::Heading, "a.pcap") + "  2 frames"
        );
        assert_eq!(
            titled("a.pcap", "2 frames", 15),
            paint(Meaning::Heading, "a.pcap") + "\n  2 frames"
        );
    }
}
