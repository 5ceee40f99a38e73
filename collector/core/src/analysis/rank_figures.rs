//! A rank in one collective: how late it was, and what its connections carried.

use super::collective::{Collective, RankTimes};
use super::straggler::Straggler;
use super::wait::CollectiveWaits;
use super::wait::edge::EdgeWaits;
use crate::link::job::Job;

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
    /// Packets that it retransmitted on all of them; `None` over TCP.
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
            retransmitted_packets: sum(|edge| {
                (!edge.is_on_tcp).then_some(edge.retransmitted_packets)
            }),
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
