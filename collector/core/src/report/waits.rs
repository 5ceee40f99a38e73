//! Where the time of a collective went, by rank and by connection.

use schemars::JsonSchema;
use serde::Serialize;

use super::collectives::CollectiveRankReport;
use super::sources::Sources;
use crate::analysis::collective::RankTimes;
use crate::analysis::judged::JudgedCollective;
use crate::analysis::wait::edge::EdgeWaits;
use crate::link::job::Job;
use crate::model::time::Timestamp;

/// Where the time of a collective went on one connection. The parts add up to the time from start
/// to end and are defined as for a rank.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitsReport {
    /// When it had a receive buffer and its sender had left the previous collective; the first data
    /// packet if no clear-to-send was seen.
    pub start_ns: i64,
    /// The last data packet, or the end of its recovery.
    pub end_ns: i64,
    /// Until the first data packet; `null` if no clear-to-send was seen.
    pub start_wait_ns: Option<u64>,
    /// Time in which the sender had data and a receive buffer for it, but did not send.
    pub sender_wait_ns: u64,
    /// Time without a receive buffer from the receiver; the data left as soon as there was one.
    pub receiver_wait_ns: u64,
    /// Time in which the sender waited for the data that it forwards.
    pub input_wait_ns: u64,
    /// The remaining time: data was flowing, or the cause of a gap is unknown.
    pub transfer_ns: u64,
    /// Time in which lost data was recovered.
    pub recovery_ns: u64,
}

impl WaitsReport {
    pub(super) fn new(sources: &Sources<'_>, edge: &EdgeWaits) -> Self {
        Self {
            start_ns: sources.relative_ns(edge.span.first),
            end_ns: sources.relative_ns(edge.span.last),
            start_wait_ns: edge.start_wait_ns,
            sender_wait_ns: edge.sender_wait_ns,
            receiver_wait_ns: edge.receiver_wait_ns,
            input_wait_ns: edge.input_wait_ns,
            transfer_ns: edge.transfer_ns,
            recovery_ns: edge.recovery_ns,
        }
    }
}

/// The ranks of a collective.
pub(super) fn ranks(
    sources: &Sources<'_>,
    job: &Job,
    judged: &JudgedCollective,
) -> Vec<CollectiveRankReport> {
    let JudgedCollective { collective, waits, straggler } = judged;
    let time = |time: Timestamp| sources.relative_ns(time);
    let report = |times: &RankTimes| {
        let known = waits.of_rank(times.rank);
        let lateness = known.and_then(|known| known.lateness);
        // A rank without an edge is late by what its straggler lag shows.
        let named = straggler.as_ref().filter(|one| one.rank == times.rank && one.cause.is_own());
        let named_ns = named.and_then(|one| i64::try_from(one.lag_ns).ok());
        let last = waits.last_edge(times.rank);
        let edges = || {
            let is_own = |edge: &&EdgeWaits| {
                let connection = job.connection(edge.connection);
                connection.is_some_and(|one| one.sender == Some(times.rank))
            };
            waits.edges.iter().filter(is_own)
        };
        // Nothing is known about a rank without edges.
        let sum = |of: fn(&EdgeWaits) -> Option<u64>| last.and_then(|_| edges().map(of).sum());
        CollectiveRankReport {
            rank: times.rank,
            first_cts_ns: times.first_cts.map(time),
            first_send_ns: times.first_send.map(time),
            last_receive_ns: times.last_receive.map(time),
            busy_ns: known.and_then(|known| known.busy_ns),
            late_ns: lateness.map(|lateness| lateness.late_ns).or(named_ns),
            late_uncertainty_ns: lateness.map(|lateness| lateness.uncertainty_ns),
            start_wait_ns: last.and_then(|edge| edge.start_wait_ns),
            sender_wait_ns: last.map(|edge| edge.sender_wait_ns),
            receiver_wait_ns: last.map(|edge| edge.receiver_wait_ns),
            input_wait_ns: last.map(|edge| edge.input_wait_ns),
            transfer_ns: last.map(|edge| edge.transfer_ns),
            recovery_ns: last.map(|edge| edge.recovery_ns),
            paused_ns: None,
            ce_packets: sum(|edge| edge.ce_packets),
            cnps: sum(|edge| edge.cnps),
            retransmitted_packets: sum(|edge| Some(edge.retransmitted_packets)),
        }
    };
    collective.ranks.iter().map(report).collect()
}
