//! A map of bounded size that evicts the oldest entry.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use foldhash::fast::RandomState;

/// A map with at most `capacity` entries; a new one beyond that evicts the oldest.
#[derive(Clone, Debug)]
pub struct RecentMap<K, V> {
    map: HashMap<K, V, RandomState>,
    order: VecDeque<K>,
    capacity: usize,
    evicted: u64,
}

impl<K: Copy + Eq + Hash, V> RecentMap<K, V> {
    /// An empty map with this capacity.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { map: HashMap::default(), order: VecDeque::new(), capacity, evicted: 0 }
    }

    /// Inserts `value` under `key`. An existing key keeps its age.
    pub fn insert(&mut self, key: K, value: V) {
        if self.map.insert(key, value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.map.remove(&oldest);
            self.evicted += 1;
        }
    }

    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    /// Entries evicted.
    #[must_use]
    pub const fn evicted(&self) -> u64 {
        self.evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_makes_room() {
        let mut map = RecentMap::new(2);
        for key in [1, 2, 1, 3] {
            map.insert(key, key * 10);
        }
        assert_eq!((map.get(&1), map.get(&2), map.get(&3)), (None, Some(&20), Some(&30)));
        assert_eq!(map.evicted(), 1);
    }
}
