//! The flows of all taps: found by key, bounded in number.
//!
//! The index maps a key to its newest epoch; older epochs stay until they are evicted. When the
//! table is full, the least recently active of eight flows at a moving hand is evicted (sampled
//! LRU).

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::key::FlowKey;
use super::state::{Flow, PairEvidence, Reverse};

/// Flows sampled to find the one to evict.
const EVICTION_SAMPLE: usize = 8;

/// Indices cached by a cheap hash of the key, a power of two: packets arrive in bursts.
const RECENT: usize = 64;

/// A table of at most `capacity` flows. One that was written and read takes no more of them.
#[derive(Clone, Serialize, Deserialize)]
pub struct FlowTable {
    flows: Vec<Flow>,
    #[serde(skip, default = "nothing_recent")]
    recent: [u32; RECENT],
    #[serde(skip)]
    index: HashTable<u32>,
    #[serde(skip)]
    hasher: RandomState,
    #[serde(skip)]
    capacity: usize,
    #[serde(skip)]
    hand: usize,
    evicted_flows: u64,
    evicted_frames: u64,
}

const fn nothing_recent() -> [u32; RECENT] {
    [0; RECENT]
}

impl FlowTable {
    /// An empty table with this capacity, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            flows: Vec::new(),
            recent: nothing_recent(),
            index: HashTable::new(),
            hasher: RandomState::default(),
            capacity: capacity.clamp(1, u32::MAX as usize),
            hand: 0,
            evicted_flows: 0,
            evicted_frames: 0,
        }
    }

    /// The newest epoch of `key`.
    #[inline]
    #[must_use]
    pub fn newest(&mut self, key: &FlowKey) -> Option<u32> {
        let recent = &mut self.recent[recent_place(key)];
        match self.flows.get(*recent as usize) {
            Some(flow) if flow.key == *key && !flow.is_superseded => Some(*recent),
            _ => {
                let at = find_in_index(&self.index, &self.flows, &self.hasher, key)?;
                *recent = at;
                Some(at)
            }
        }
    }

    /// Inserts `flow` as the newest epoch of its key. Returns its index and the flow evicted for
    /// it.
    pub fn insert(&mut self, flow: Flow) -> (u32, Option<Flow>) {
        let key = flow.key;
        let (at, evicted) = if self.flows.len() < self.capacity {
            self.flows.push(flow);
            (self.flows.len() - 1, None)
        } else {
            let at = self.longest_silent();
            self.unlink(at as u32);
            self.remove_from_index(at as u32);
            let evicted = std::mem::replace(&mut self.flows[at], flow);
            self.evicted_flows += 1;
            self.evicted_frames += evicted.frames;
            (at, Some(evicted))
        };
        let at = at as u32;
        let (flows, hasher) = (&self.flows, &self.hasher);
        let hash = hasher.hash_one(key);
        match self.index.find_mut(hash, |at| flows[*at as usize].key == key) {
            Some(place) => {
                let older = std::mem::replace(place, at);
                self.flows[older as usize].is_superseded = true;
            }
            None => {
                self.index.insert_unique(hash, at, |at| hasher.hash_one(flows[*at as usize].key));
            }
        }
        (at, evicted)
    }

    /// The flow at `at`, an index that this table returned.
    #[inline]
    #[must_use]
    pub fn at(&self, at: u32) -> &Flow {
        &self.flows[at as usize]
    }

    /// The flow at `at`, mutable.
    #[inline]
    pub fn at_mut(&mut self, at: u32) -> &mut Flow {
        &mut self.flows[at as usize]
    }

    /// Makes two flows each other's reverse, unless better evidence contradicts.
    pub fn link(&mut self, one: u32, other: u32, evidence: PairEvidence) {
        let is_better = |flow: &Flow| flow.reverse.is_none_or(|known| known.evidence < evidence);
        if one == other || !is_better(self.at(one)) || !is_better(self.at(other)) {
            return;
        }
        self.unlink(one);
        self.unlink(other);
        for (from, to) in [(one, other), (other, one)] {
            let dest_qpn = self.at(to).key.dest_qpn;
            self.at_mut(from).reverse = Some(Reverse { flow: to, dest_qpn, evidence });
        }
    }

    /// Removes the link of a flow.
    pub fn unlink(&mut self, at: u32) {
        if let Some(reverse) = self.at_mut(at).reverse.take() {
            self.at_mut(reverse.flow).reverse = None;
        }
    }

    /// Removes the flow at `at`. The last flow takes its place; returns the index that this one had, if it
    /// is another.
    pub fn remove(&mut self, at: u32) -> (Flow, Option<u32>) {
        self.unlink(at);
        self.remove_from_index(at);
        let last = (self.flows.len() - 1) as u32;
        if last != at {
            let moved = &self.flows[last as usize];
            let hash = self.hasher.hash_one(moved.key);
            if let Some(place) = self.index.find_mut(hash, |place| *place == last) {
                *place = at;
            }
            if let Some(reverse) = moved.reverse
                && let Some(back) = &mut self.flows[reverse.flow as usize].reverse
            {
                back.flow = at;
            }
        }
        (self.flows.swap_remove(at as usize), (last != at).then_some(last))
    }

    /// Takes over the flows of `other`, each changed by `adapt`. They cannot be found by key.
    pub(super) fn join(&mut self, other: Self, mut adapt: impl FnMut(&mut Flow)) {
        let offset = self.flows.len() as u32;
        self.flows.reserve_exact(other.flows.len());
        self.flows.extend(other.flows.into_iter().map(|mut flow| {
            if let Some(reverse) = &mut flow.reverse {
                reverse.flow += offset;
            }
            adapt(&mut flow);
            flow
        }));
        self.evicted_flows += other.evicted_flows;
        self.evicted_frames += other.evicted_frames;
    }

    /// Puts the flows in order of their first frame. They cannot be found by key.
    pub(super) fn sort(&mut self) {
        let flows = &mut self.flows;
        let mut order: Vec<u32> = (0..flows.len() as u32).collect();
        order.sort_by_key(|at| flows[*at as usize].span.first);
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, at): (u32, _)| places[*at as usize] = place);
        for reverse in flows.iter_mut().filter_map(|flow| flow.reverse.as_mut()) {
            reverse.flow = places[reverse.flow as usize];
        }
        // Flows are large: each is moved to its place at once, never copied aside.
        for at in 0..places.len() {
            while places[at] as usize != at {
                let place = places[at] as usize;
                flows.swap(at, place);
                places.swap(at, place);
            }
        }
    }

    /// All flows, every epoch, in arbitrary order.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Indices of all flows, by tap, source, destination, QPN and epoch.
    #[must_use]
    pub fn in_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.flows.len() as u32).collect();
        // Keys side by side: flows are large and far apart.
        order.sort_by_cached_key(|at| {
            let flow = self.at(*at);
            (flow.key, flow.epoch)
        });
        order
    }

    /// The same by source, destination, QPN, epoch and tap: the views that several taps have of a flow are side
    /// by side.
    #[must_use]
    pub fn over_taps(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.flows.len() as u32).collect();
        order.sort_by_cached_key(|at| {
            let flow = self.at(*at);
            (flow.identity(), flow.key.tap)
        });
        order
    }

    /// All flows, mutable.
    pub fn flows_mut(&mut self) -> &mut [Flow] {
        &mut self.flows
    }

    /// Flows evicted because the table was full.
    #[must_use]
    pub const fn evicted_flows(&self) -> u64 {
        self.evicted_flows
    }

    /// Frames of evicted flows.
    #[must_use]
    pub const fn evicted_frames(&self) -> u64 {
        self.evicted_frames
    }

    fn longest_silent(&mut self) -> usize {
        let length = self.flows.len();
        let start = self.hand;
        self.hand = (start + EVICTION_SAMPLE) % length;
        (0..EVICTION_SAMPLE.min(length))
            .map(|ahead| (start + ahead) % length)
            .min_by_key(|at| self.flows[*at].span.last)
            .unwrap_or(start)
    }

    fn remove_from_index(&mut self, at: u32) {
        let hash = self.hasher.hash_one(self.flows[at as usize].key);
        if let Ok(entry) = self.index.find_entry(hash, |place| *place == at) {
            entry.remove();
        }
    }
}

#[inline(never)]
fn find_in_index(
    index: &HashTable<u32>,
    flows: &[Flow],
    hasher: &RandomState,
    key: &FlowKey,
) -> Option<u32> {
    index.find(hasher.hash_one(key), |at| flows[*at as usize].key == *key).copied()
}

/// Cache slot of a key: both directions of a pair differ.
#[inline]
fn recent_place(key: &FlowKey) -> usize {
    let qpn = key.dest_qpn.value();
    (qpn.wrapping_mul(7) ^ key.source.low_bits() ^ key.tap.0.wrapping_mul(31)) as usize % RECENT
}
