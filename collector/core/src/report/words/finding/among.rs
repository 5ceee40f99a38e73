//! The only one of a kind by name, or how many there are.

use super::super::number::count;
use crate::analysis::finding::naming::Among;

/// `name` of the only one, or `12 nouns`.
pub(super) fn among<T>(all: &Among<T>, name: impl FnOnce(&T) -> String, nouns: &str) -> String {
    match all {
        Among::Only(only) => name(only),
        Among::Several(several) => format!("{} {nouns}", count(*several)),
    }
}
