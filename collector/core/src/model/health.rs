//! What was missed: named counters of everything that was dropped, refused or could not be known.

use std::collections::BTreeMap;

/// Counters of losses and of what is not certain; names are from a fixed list, `<area>.<what>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    counters: BTreeMap<&'static str, u64>,
}

impl Health {
    /// Adds `count` to the counter called `name`; nothing happens when `count` is 0.
    pub fn add(&mut self, name: &'static str, count: u64) {
        if count > 0 {
            *self.counters.entry(name).or_insert(0) += count;
        }
    }

    /// The counters that are not 0, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter().map(|(name, count)| (*name, *count))
    }
}
