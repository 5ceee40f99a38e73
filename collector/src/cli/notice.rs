//! What users should know, on standard error.

use std::fmt::Display;
use std::io::Write;

use crate::printable::printable_lines;

/// Prints `text`, of which parts may be foreign. A failing standard error cannot be reported anywhere, and
/// stops nothing.
pub(super) fn notice(text: impl Display) {
    let text = text.to_string();
    _ = writeln!(anstream::stderr(), "{}", printable_lines(&text));
}
