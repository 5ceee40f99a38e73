//! What to say of a thing that a report does not have: what it has instead.

use std::fmt;

/// There is no such thing in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub(super) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}
