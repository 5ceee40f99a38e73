//! Why a filter cannot be used: it points into the text.

use std::fmt;
use std::ops::Range;

/// A mistake in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    text: String,
    /// In bytes.
    place: Range<usize>,
    what: String,
}

impl FilterError {
    pub(super) fn new(text: &str, place: Range<usize>, what: impl Into<String>) -> Self {
        Self { text: text.to_owned(), place, what: what.into() }
    }
}

/// ```text
/// there is no field `rnk`; did you mean rank?
///   nak and rnk == 3
///           ^^^
/// ```
impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, place, what } = self;
        writeln!(f, "{what}")?;
        // Line breaks and tabs would move the mark.
        writeln!(f, "  {}", text.replace(char::is_control, " "))?;
        let width = |part: Option<&str>| part.map_or(0, |part| part.chars().count());
        let before = width(text.get(..place.start));
        let marked = width(text.get(place.clone())).max(1);
        write!(f, "  {}{}", " ".repeat(before), "^".repeat(marked))
    }
}

impl std::error::Error for FilterError {}
