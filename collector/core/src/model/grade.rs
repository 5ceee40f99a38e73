//! How sure a statement is.

/// The grade of a statement; the surest is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Nothing seen says so or the contrary.
    #[default]
    Unknown,
    /// It explains what was seen, and something else could, too.
    Inferred,
    /// What was seen leaves no other explanation.
    Proven,
}

impl Grade {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Inferred => "inferred",
            Self::Proven => "proven",
        }
    }
}
