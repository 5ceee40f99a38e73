//! The error for a subject that the report does not have; it lists what the report has.

use std::fmt;

/// The report has no such thing, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub(super) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}
