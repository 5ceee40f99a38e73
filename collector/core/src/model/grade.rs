//! How certain a statement is.

/// The grade of a statement; the most certain is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// No evidence for or against.
    #[default]
    Unknown,
    /// It explains the observations, but something else could, too.
    Inferred,
    /// The observations leave no other explanation.
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
