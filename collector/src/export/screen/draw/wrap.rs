//! Text broken between words; only what is longer than a line is broken inside.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The lines of `text` in `width` columns.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let options = Options::new(usize::from(width.max(1)))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(String::from).collect()
}

/// As [`wrap`], in at most `lines` lines. Returns how many more there are.
pub(super) fn wrap_into(text: &str, width: u16, lines: u16) -> (Vec<String>, usize) {
    let mut wrapped = wrap(text, width);
    let left_out = wrapped.len().saturating_sub(usize::from(lines));
    wrapped.truncate(usize::from(lines));
    (wrapped, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_are_counted() {
        assert_eq!(wrap("the fabric lost\npackets", 10), ["the fabric", "lost", "packets"]);
        assert_eq!(wrap("10.0.0.1 fd00::1234", 8), ["10.0.0.1", "fd00::12", "34"]);
        assert_eq!(wrap_into("a b c d", 3, 1), (vec!["a b".to_owned()], 1));
        assert_eq!(wrap("anything", 0).len(), 8);
    }
}
