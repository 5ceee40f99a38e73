//! Communicators abbreviated to the start of their id, as git abbreviates commits.

use std::collections::BTreeSet;

use super::label;
use railscope_core::report::communicators::CommunicatorReport;

/// Digits shown even if fewer are unique.
const SHORTEST: usize = 8;

/// How many digits identify each communicator of a report.
#[derive(Clone, Copy)]
pub(in crate::export) struct CommunicatorNames {
    digits: usize,
    several: bool,
}

impl CommunicatorNames {
    /// Shortest names that tell these communicators apart.
    pub(in crate::export) fn new(communicators: &[CommunicatorReport]) -> Self {
        Self::from_ids(&communicators.iter().map(|one| one.id.as_str()).collect::<Vec<_>>())
    }

    fn from_ids(ids: &[&str]) -> Self {
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let longest = ids.iter().map(|id| id.len()).max().unwrap_or(0);
        let is_unique = |digits: &usize| {
            let starts: BTreeSet<&str> =
                ids.iter().map(|id| id.get(..*digits).unwrap_or(id)).collect();
            starts.len() == ids.len()
        };
        let digits = (SHORTEST..longest).find(is_unique).unwrap_or(longest.max(SHORTEST));
        Self { digits, several: ids.len() > 1 }
    }

    /// The start of an `id`; inferred ids in full.
    pub(in crate::export) fn short(self, id: &str) -> String {
        if id.starts_with("inferred") {
            return label::name(id);
        }
        label::name(id.get(..self.digits).unwrap_or(id))
    }

    /// [`short`](Self::short) if there are several communicators, else empty.
    pub(in crate::export) fn where_needed(self, id: &str) -> String {
        if self.several { self.short(id) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(ids: &[&str]) -> Vec<String> {
        let names = CommunicatorNames::from_ids(ids);
        ids.iter().map(|id| names.where_needed(id)).collect()
    }

    #[test]
    fn as_many_digits_as_are_unique() {
        assert_eq!(short(&["0ed04865336c0448"]), [""]);
        assert_eq!(short(&["0ed04865336c0448", "inferred-0"]), ["0ed04865", "inferred-0"]);
        assert_eq!(
            short(&["0ed04865336c0448", "0ed04865337c0448"]),
            ["0ed04865336", "0ed04865337"]
        );
    }
}
