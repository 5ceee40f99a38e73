//! Health counters: everything that was dropped, rejected, or remained unknown.

pub mod event;

use std::collections::BTreeMap;

use self::event::HealthEvent;

/// Counters of losses and of uncertain results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    counters: BTreeMap<HealthEvent, u64>,
}

impl Health {
    /// Adds `count` to the counter of `event`; nothing happens when `count` is 0.
    pub fn add(&mut self, event: HealthEvent, count: u64) {
        if count > 0 {
            // Some counts are what another process says.
            let counter = self.counters.entry(event).or_insert(0);
            *counter = counter.saturating_add(count);
        }
    }

    /// The counters that are not 0.
    pub fn iter(&self) -> impl Iterator<Item = (HealthEvent, u64)> + '_ {
        self.counters.iter().map(|(event, count)| (*event, *count))
    }
}
