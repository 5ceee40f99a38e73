//! Counts of a few values: most flows use one DSCP, one partition key, one UDP source port.

use serde::{Deserialize, Serialize};

/// Counts by value. Values beyond the capacity are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally<K> {
    counts: Vec<(K, u64)>,
    overflow: u64,
}

/// Most distinct values.
const CAPACITY: usize = 64;

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self { counts: Vec::new(), overflow: 0 }
    }
}

impl<K: Copy + Ord> Tally<K> {
    /// Adds `times` to the count of `value`.
    pub fn add(&mut self, value: K, times: u64) {
        match self.counts.binary_search_by_key(&value, |(known, _)| *known) {
            Ok(at) => self.counts[at].1 += times,
            Err(_) if self.counts.len() >= CAPACITY => self.overflow += times,
            Err(at) => self.counts.insert(at, (value, times)),
        }
    }

    /// The values with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Count of values that did not fit.
    #[must_use]
    pub const fn overflow(&self) -> u64 {
        self.overflow
    }
}
