//! Whether a text has one of many phrases, in one pass or two.

use aho_corasick::packed::{Config, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Most phrases that one vectorised search takes.
const PACKED: usize = 48;

/// Phrases to search for.
#[derive(Clone, Debug)]
pub enum Phrases {
    /// Vectorised searches for parts of them.
    Packed(Vec<Searcher>),
    /// Where the processor has no such instructions.
    Automaton(AhoCorasick),
}

impl Phrases {
    /// Of constants: it fails only beyond 2^31 states.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the phrases are constants, and few")]
    pub fn new(phrases: &[&str]) -> Self {
        let packed = |some: &[&str]| Config::new().builder().extend(some).build();
        let all: Option<Vec<Searcher>> = phrases.chunks(PACKED).map(packed).collect();
        all.map_or_else(
            || {
                let builder =
                    AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(phrases);
                Self::Automaton(builder.expect("few phrases"))
            },
            Self::Packed,
        )
    }

    /// Whether `text` has one of them.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        match self {
            Self::Packed(all) => all.iter().any(|one| one.find(text).is_some()),
            Self::Automaton(all) => all.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::job_log::MARKS;

    #[test]
    fn every_phrase_is_found_wherever_it_is() {
        let phrases = Phrases::new(MARKS);
        for phrase in MARKS {
            for (before, after) in [("", ""), ("[ 1.5] ", " x"), (&*"-".repeat(300), "")] {
                let text = format!("{before}{phrase}{after}");
                assert!(phrases.is_in(text.as_bytes()), "{text}");
            }
        }
        assert!(
            !phrases.is_in(b"") && !phrases.is_in("iteration 5 loss 2.5 ".repeat(9).as_bytes())
        );
    }
}
