//! Assertions about a case, and those that failed.

use std::fmt::{Debug, Display};

/// Facts checked so far.
#[derive(Default)]
pub(super) struct Facts {
    about: String,
    held: usize,
    broken: Vec<String>,
}

impl Facts {
    /// The subject of the next facts.
    pub(super) fn about(&mut self, what: impl Display) {
        self.about = what.to_string();
    }

    pub(super) fn holds(&mut self, fact: bool, otherwise: impl FnOnce() -> String) {
        if fact {
            self.held += 1;
        } else {
            self.broken.push(format!("{}: {}", self.about, otherwise()));
        }
    }

    pub(super) fn equal<T: PartialEq + Debug>(&mut self, what: &str, found: T, wanted: T) {
        self.holds(found == wanted, || format!("{what}: {found:?}, not {wanted:?}"));
    }

    pub(super) fn some(&mut self, what: &str, count: u64) {
        self.holds(count > 0, || format!("{what}: none"));
    }

    pub(super) fn at_most(&mut self, what: &str, count: u64, limit: u64) {
        self.holds(count <= limit, || format!("{what}: {count}, more than {limit}"));
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn failed_facts_are_listed() {
        let mut facts = Facts::default();
        facts.about("loss");
        facts.equal("NAKs", 3, 3);
        facts.equal("marks", 1, 0);
        facts.some("resends", 0);
        facts.at_most("retries", 2, 1);
        assert_eq!(facts.held(), 1);
        assert_eq!(
            facts.broken(),
            ["loss: marks: 1, not 0", "loss: resends: none", "loss: retries: 2, more than 1"]
        );
    }
}
