//! How late each rank was in all collectives, and which one is named.

use std::collections::BTreeMap;

use super::late::{LEAST_COLLECTIVES, Late, Lateness, PART, ShownBy};

/// How many times later than any other rank it must be.
const FACTOR: u64 = 3;

/// Of a rank.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    collectives: u64,
    late_ns: u64,
    gpu_ns: u64,
    enqueue_ns: u64,
}

/// Of all ranks of a communicator.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    ranks: BTreeMap<u32, Tally>,
    /// Collectives that were judged.
    pub(super) judged: u64,
    /// Nanoseconds that they lasted together.
    pub(super) lasted_ns: u64,
}

impl Tallies {
    /// A collective was judged that lasted so long.
    pub(super) fn judged(&mut self, lasted_ns: u64) {
        self.judged = self.judged.saturating_add(1);
        self.lasted_ns = self.lasted_ns.saturating_add(lasted_ns);
    }

    /// A rank was late in it.
    pub(super) fn late(&mut self, rank: u32, late_ns: u64, why: Lateness) {
        let tally = self.ranks.entry(rank).or_default();
        tally.collectives = tally.collectives.saturating_add(1);
        tally.late_ns = tally.late_ns.saturating_add(late_ns);
        match why {
            Lateness::Gpu => tally.gpu_ns = tally.gpu_ns.saturating_add(late_ns),
            Lateness::Enqueue => tally.enqueue_ns = tally.enqueue_ns.saturating_add(late_ns),
            Lateness::Unknown => {}
        }
    }

    /// The late rank, if one stands out.
    pub(super) fn named(&self, hash: u64) -> Option<Late> {
        let (rank, worst) = self.ranks.iter().max_by_key(|(_, tally)| tally.late_ns)?;
        let others = self.ranks.iter().filter(|(other, _)| *other != rank);
        let next = others.map(|(_, tally)| tally.late_ns).max().unwrap_or(0);
        let is_named = worst.collectives >= LEAST_COLLECTIVES
            && worst.late_ns >= next.saturating_mul(FACTOR)
            && worst.late_ns >= self.lasted_ns / PART;
        let why = if worst.gpu_ns > worst.late_ns / 2 {
            Lateness::Gpu
        } else if worst.enqueue_ns > worst.late_ns / 2 {
            Lateness::Enqueue
        } else {
            Lateness::Unknown
        };
        is_named.then_some(Late {
            hash,
            rank: *rank,
            collectives: worst.collectives,
            judged: self.judged,
            late_ns: worst.late_ns,
            why,
            shown_by: ShownBy::Waits,
        })
    }
}
