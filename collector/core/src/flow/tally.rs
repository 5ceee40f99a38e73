//! Counts of a few values: most flows use one DSCP, one partition key, one UDP source port.

/// How often each value was seen. Values beyond the capacity are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<K> {
    counts: Vec<(K, u64)>,
    overflow: u64,
}

/// Different values that a tally tells apart.
const CAPACITY: usize = 64;

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self { counts: Vec::new(), overflow: 0 }
    }
}

impl<K: Copy + Ord> Tally<K> {
    /// Counts `value` `times` more.
    pub fn add(&mut self, value: K, times: u64) {
        match self.counts.binary_search_by_key(&value, |(known, _)| *known) {
            Ok(at) => self.counts[at].1 += times,
            Err(_) if self.counts.len() >= CAPACITY => self.overflow += times,
            Err(at) => self.counts.insert(at, (value, times)),
        }
    }

    /// The values seen with their counts, in ascending order of the value.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Sightings of values that found no room.
    #[must_use]
    pub const fn overflow(&self) -> u64 {
        self.overflow
    }
}
