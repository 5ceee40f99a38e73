//! What ranks waited for and how late they were: in one collective, and in all together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::collective::{Collective, RankTimes};
use super::judged::JudgedCollective;
use super::straggler::Straggler;
use super::wait::CollectiveWaits;
use super::wait::edge::EdgeWaits;
use crate::link::job::{CommunicatorId, Job};

/// A rank in one collective, beyond its waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankFigures {
    /// The rank.
    pub rank: u32,
    /// How late it was; negative if it was early.
    pub late_ns: Option<i64>,
    /// CE-marked data packets on all its connections.
    pub ce_packets: Option<u64>,
    /// CNPs that it received on all of them.
    pub cnps: Option<u64>,
    /// Packets that it retransmitted on all of them.
    pub retransmitted_packets: Option<u64>,
}

impl RankFigures {
    fn new(
        job: &Job,
        times: &RankTimes,
        waits: &CollectiveWaits,
        straggler: Option<&Straggler>,
    ) -> Self {
        let rank = times.rank;
        let lateness = waits.of_rank(rank).and_then(|known| known.lateness);
        // A rank without an edge is late by what its straggler lag shows.
        let named = straggler.filter(|one| one.rank == rank && one.cause.is_own());
        let named_ns = named.and_then(|one| i64::try_from(one.lag_ns).ok());
        let is_own = |edge: &&EdgeWaits| {
            let connection = job.connection(edge.connection);
            connection.is_some_and(|one| one.sender == Some(rank))
        };
        // Nothing is known about a rank without edges.
        let has_edges = waits.last_edge(rank).is_some();
        let sum = |of: fn(&EdgeWaits) -> Option<u64>| {
            let edges = waits.edges.iter().filter(is_own);
            has_edges.then(|| edges.map(of).sum::<Option<u64>>()).flatten()
        };
        Self {
            rank,
            late_ns: lateness.map(|lateness| lateness.late_ns).or(named_ns),
            ce_packets: sum(|edge| edge.ce_packets),
            cnps: sum(|edge| edge.cnps),
            retransmitted_packets: sum(|edge| Some(edge.retransmitted_packets)),
        }
    }
}

/// The ranks of a collective, in the order of its own.
#[must_use]
pub fn of_collective(
    job: &Job,
    collective: &Collective,
    waits: &CollectiveWaits,
    straggler: Option<&Straggler>,
) -> Vec<RankFigures> {
    let figures = |times| RankFigures::new(job, times, waits, straggler);
    collective.ranks.iter().map(figures).collect()
}

/// The waits of one rank in all collectives together; `None` if unknown in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankSums {
    /// Collectives in which the others waited for it.
    pub late_collectives: u64,
    /// How long they waited.
    pub lag_ns: u64,
    /// How late it was; collectives in which it was early count nothing.
    pub late_ns: Option<u64>,
    /// Until its first data packets.
    pub start_wait_ns: Option<u64>,
    /// In which it had data and a receive buffer, but did not send.
    pub sender_wait_ns: Option<u64>,
    /// In which the next rank had offered no receive buffer.
    pub receiver_wait_ns: Option<u64>,
    /// In which it waited for the data that it forwards.
    pub input_wait_ns: Option<u64>,
    /// In which lost data was recovered.
    pub recovery_ns: Option<u64>,
    /// CE-marked data packets.
    pub ce_packets: Option<u64>,
    /// Retransmitted packets.
    pub retransmitted_packets: Option<u64>,
}

impl RankSums {
    fn add(&mut self, figures: &RankFigures, edge: Option<&EdgeWaits>) {
        let late_ns = figures.late_ns.map(|late_ns| u64::try_from(late_ns).unwrap_or(0));
        let pairs = [
            (&mut self.late_ns, late_ns),
            (&mut self.start_wait_ns, edge.and_then(|edge| edge.start_wait_ns)),
            (&mut self.sender_wait_ns, edge.map(|edge| edge.sender_wait_ns)),
            (&mut self.receiver_wait_ns, edge.map(|edge| edge.receiver_wait_ns)),
            (&mut self.input_wait_ns, edge.map(|edge| edge.input_wait_ns)),
            (&mut self.recovery_ns, edge.map(|edge| edge.recovery_ns)),
            (&mut self.ce_packets, figures.ce_packets),
            (&mut self.retransmitted_packets, figures.retransmitted_packets),
        ];
        for (sum, value) in pairs {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        }
    }
}

/// The waits of all ranks by communicator and rank.
#[must_use]
pub fn sums(collectives: &[JudgedCollective]) -> BTreeMap<(CommunicatorId, u32), RankSums> {
    let mut sums: BTreeMap<(CommunicatorId, u32), RankSums> = BTreeMap::new();
    for one in collectives {
        let of = one.collective.communicator;
        for figures in &one.ranks {
            let edge = one.waits.last_edge(figures.rank);
            sums.entry((of, figures.rank)).or_default().add(figures, edge);
        }
        if let Some(late) = &one.straggler {
            let sum = sums.entry((of, late.rank)).or_default();
            sum.late_collectives += 1;
            sum.lag_ns = sum.lag_ns.saturating_add(late.lag_ns);
        }
    }
    sums
}

/// A rank that others waited for, in all collectives together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateRank {
    /// Its communicator.
    pub communicator: CommunicatorId,
    /// The rank.
    pub rank: u32,
    /// Collectives in which the others waited for it.
    pub collectives: u64,
    /// How long they waited.
    pub lag_ns: u64,
    /// Place of the collective in which they waited longest.
    pub longest: usize,
}

/// The late ranks, the one that cost most first.
#[must_use]
pub fn late(collectives: &[JudgedCollective]) -> Vec<LateRank> {
    let mut ranks: BTreeMap<(CommunicatorId, u32), (LateRank, u64)> = BTreeMap::new();
    for (at, one) in collectives.iter().enumerate() {
        let Some(Straggler { rank, lag_ns, .. }) = one.straggler else { continue };
        let communicator = one.collective.communicator;
        let new = LateRank { communicator, rank, collectives: 0, lag_ns: 0, longest: at };
        let (late, longest_ns) = ranks.entry((communicator, rank)).or_insert((new, lag_ns));
        late.collectives += 1;
        late.lag_ns = late.lag_ns.saturating_add(lag_ns);
        if lag_ns > *longest_ns {
            *longest_ns = lag_ns;
            late.longest = at;
        }
    }
    let mut ranks: Vec<LateRank> = ranks.into_values().map(|(late, _)| late).collect();
    ranks.sort_by_key(|late| Reverse(late.lag_ns));
    ranks
}
