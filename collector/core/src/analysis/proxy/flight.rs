//! When calls of a process were in flight: in itself, and in others of its host.
//!
//! The process may be the one that the others wait for. Its own silence is no pause then: a collective begins when
//! the first process begins it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::calls::{LATEST_NS, hashes, latest};
use super::{CollectiveKey, CollectiveWaits, ProcessRecords};
use crate::decode::profiler;

/// When a call was in flight, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Flight {
    /// In one process. It ends where it begins if only the call was recorded.
    fn new(waits: &CollectiveWaits, called: &profiler::Collective) -> Self {
        let moments = &waits.moments;
        let is_sane = |time: &u64| (1..LATEST_NS).contains(time);
        let first = [moments.first_data_ns, moments.began_ns, called.time_ns];
        let first_ns = first.into_iter().find(is_sane).unwrap_or(0);
        let ended_ns = Some(moments.ended_ns).filter(is_sane).unwrap_or(0);
        Self { first_ns, last_ns: ended_ns.max(first_ns) }
    }

    fn or(self, other: Self) -> Self {
        Self {
            first_ns: self.first_ns.min(other.first_ns),
            last_ns: self.last_ns.max(other.last_ns),
        }
    }
}

/// Collectives in flight, by hash and count of their communicator; `None` if the count is not theirs alone: in a
/// CUDA graph, NCCL does not go on counting.
type Counted = BTreeMap<(u64, CollectiveKey), Option<Flight>>;

/// When collectives of a process were in flight in others that share its clock, by the data that they sent: a
/// process may call long before its GPU comes to it.
pub(super) struct Flights {
    own: Counted,
    others: Counted,
}

impl Flights {
    pub(super) fn new<'a>(
        process: &ProcessRecords,
        others: impl Iterator<Item = &'a ProcessRecords>,
    ) -> Self {
        let own = counted(process);
        let mut all = Counted::new();
        for (key, flight) in others.flat_map(counted).filter(|(key, _)| own.contains_key(key)) {
            let known = all.entry(key).or_insert(flight);
            *known = known.zip(flight).map(|(known, flight)| known.or(flight));
        }
        Self { own, others: all }
    }

    /// When a call of the process was in flight, in any of them.
    pub(super) fn of(
        &self,
        hash: u64,
        waits: &CollectiveWaits,
        called: &profiler::Collective,
    ) -> Flight {
        let key = (hash, waits.key);
        let own = Flight::new(waits, called);
        let others = self.others.get(&key).copied().flatten();
        let is_counted = sends(waits, called) && self.own.get(&key).is_some_and(Option::is_some);
        others.filter(|_| is_counted).map_or(own, |others| own.or(others))
    }
}

/// The collectives of a process whose data it sent. A send and its receive are two calls, and have no count.
fn counted(process: &ProcessRecords) -> Counted {
    let numbers: BTreeMap<u32, u64> = hashes(process).collect();
    let mut all = Counted::new();
    for (waits, called) in latest(process).filter(|(waits, called)| sends(waits, called)) {
        let Some(hash) = numbers.get(&called.comm) else { continue };
        match all.entry((*hash, waits.key)) {
            Entry::Vacant(new) => _ = new.insert(Some(Flight::new(waits, &called))),
            Entry::Occupied(mut known) => _ = known.insert(None),
        }
    }
    all
}

const fn sends(waits: &CollectiveWaits, called: &profiler::Collective) -> bool {
    waits.moments.first_data_ns > 0 && !called.is_p2p
}
