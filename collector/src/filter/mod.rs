//! The filter language: `--filter 'nak and rank == 3 and step in 4..7'`.
//!
//! ```text
//! expression = term { ("or" | "||") term }
//! term       = factor { ("and" | "&&") factor }
//! factor     = ("not" | "!") factor | "(" expression ")" | test
//! test       = flag | field ("==" | "!=" | "<" | "<=" | ">" | ">=") literal | field "in" set
//! set        = "{" literal { "," literal } "}" | literal ".." literal | literal
//! ```
//!
//! A field may have two values, as both ends of a packet have an address: a test holds if it holds for
//! one of them; `!=` holds if `==` does not. A field that a packet does not have is in no test but `!=`.

mod clock;
mod error;
mod expression;
mod facts;
mod field;
mod knowledge;
mod literal;
mod subject;
mod token;
mod under_way;

use std::str::FromStr;

pub use self::error::FilterError;
pub use self::facts::Facts;
pub use self::field::{FIELDS, Field, FieldKind};
pub use self::knowledge::Knowledge;
pub use self::subject::Subject;

use self::expression::Expression;
use self::field::Content;

/// Characters of a filter that a warning repeats.
const SHOWN_CHARS: usize = 60;

/// A filter, ready to be used.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    root: Expression,
}

impl Filter {
    /// The expression, as typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The warning if it selects no packet.
    #[must_use]
    pub fn selects_nothing(&self) -> String {
        let text: String = self.text.chars().take(SHOWN_CHARS).collect();
        let dots = if text.len() < self.text.len() { "..." } else { "" };
        format!("no packet is selected by the filter `{text}{dots}`")
    }

    /// Whether it asks for what only an analysis of the whole input knows: ranks, collectives, training
    /// steps.
    #[must_use]
    pub fn needs_analysis(&self) -> bool {
        self.root.fields().any(|field| field.is_learned)
    }

    /// The first field that only an analysis knows, if there is one.
    #[must_use]
    pub fn learned_field(&self) -> Option<&'static str> {
        self.root.fields().find(|field| field.is_learned).map(|field| field.name)
    }

    /// Whether a packet is selected.
    #[must_use]
    pub fn selects(&self, subject: &Subject<'_>) -> bool {
        self.root.holds(&|field| (field.read)(subject))
    }

    /// Whether a row is selected; `None` if it does not have all the fields of the filter.
    #[must_use]
    pub fn selects_row(&self, facts: &Facts) -> Option<bool> {
        let has_all = self.root.fields().all(|field| facts.get(field).is_some());
        let read = |field| facts.get(field).cloned().unwrap_or(Content::Flag(false));
        has_all.then(|| self.root.holds(&read))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Ok(Self { text: text.to_owned(), root: expression::parse(text)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts that are nearly filters.
    const WORDS: &str = "(nak|rank|psn|host|time|step|opcode|and|or|not|in|==|<|\\(|\\)|\\{|\\}|,|\\.\\.|3|0x7|\
                         1\\.5s|10\\.0\\.0\\.0/8|ü| ){0,24}";

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_refused(text in ".{0,60}", words in WORDS) {
            for text in [text, words] {
                if let Err(error) = text.parse::<Filter>() {
                    prop_assert!(error.to_string().lines().count() == 3);
                }
            }
        }
    }
}
