//! Where the time of a collective went, by rank and by connection.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::collective::RankTimes;
use crate::analysis::judged::JudgedCollective;
use crate::analysis::rank_figures::RankFigures;
use crate::analysis::rank_waits::RankSums;
use crate::analysis::wait::edge::EdgeWaits;
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
    /// Time in which the sender had something to send and was paused; `null` if neither pause frames on
    /// its link nor counters of its NIC could show that.
    pub paused_ns: Option<u64>,
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
            paused_ns: edge.paused_ns,
        }
    }
}

/// When a rank took part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveRankReport {
    /// Rank in the collective's communicator.
    pub rank: u32,
    /// First CTS that it sent.
    pub first_cts_ns: Option<i64>,
    /// First data packet that it sent.
    pub first_send_ns: Option<i64>,
    /// Last data packet that it received.
    pub last_receive_ns: Option<i64>,
    /// From the last data packet that it received in the previous collective to the first one that
    /// it sent in this one; `null` unless one tap saw both.
    pub busy_ns: Option<u64>,
    /// Lateness of the rank: its time before the first data packet, without waits for other ranks,
    /// minus the median rank's (the lower of two medians). At most the delay of its first packet
    /// against the median rank's, and at most the difference in `busy_ns`. Negative if the rank was
    /// early; `null` if unknown.
    pub late_ns: Option<i64>,
    /// Uncertainty of `late_ns`: the median deviation of the durations compared.
    pub late_uncertainty_ns: Option<u64>,
    /// From when the rank had left the previous collective and had a receive buffer, to its first
    /// data packet. `start_wait_ns`, `sender_wait_ns`, `receiver_wait_ns`, `input_wait_ns`,
    /// `transfer_ns`, `recovery_ns` and `paused_ns` describe the rank's connection that finished last.
    pub start_wait_ns: Option<u64>,
    /// Time in which the rank had data and a receive buffer for it, but did not send.
    pub sender_wait_ns: Option<u64>,
    /// Time without a receive buffer from the next rank; the data left as soon as there was one.
    pub receiver_wait_ns: Option<u64>,
    /// Time in which the rank waited for the data that it forwards.
    pub input_wait_ns: Option<u64>,
    /// The remaining time: data was flowing, or the cause of a gap is unknown.
    pub transfer_ns: Option<u64>,
    /// Time in which lost data was recovered.
    pub recovery_ns: Option<u64>,
    /// Time in which the rank had something to send and was paused; `null` if neither pause frames on
    /// its link nor counters of its NIC could show that.
    pub paused_ns: Option<u64>,
    /// CE-marked data packets on all its connections; `null` if no tap could see marks.
    pub ce_packets: Option<u64>,
    /// CNPs that it received on all its connections; `null` if no tap could see them.
    pub cnps: Option<u64>,
    /// Packets that it retransmitted on all its connections; `null` over TCP.
    pub retransmitted_packets: Option<u64>,
}

/// The ranks of a collective.
pub(super) fn ranks(sources: &Sources<'_>, judged: &JudgedCollective) -> Vec<CollectiveRankReport> {
    let JudgedCollective { collective, waits, ranks, .. } = judged;
    let time = |time: Timestamp| sources.relative_ns(time);
    let report = |(times, figures): (&RankTimes, &RankFigures)| {
        let known = waits.of_rank(times.rank);
        let last = waits.last_edge(times.rank);
        CollectiveRankReport {
            rank: times.rank,
            first_cts_ns: times.first_cts.map(time),
            first_send_ns: times.first_send.map(time),
            last_receive_ns: times.last_receive.map(time),
            busy_ns: known.and_then(|known| known.busy_ns),
            late_ns: figures.late_ns,
            late_uncertainty_ns: known
                .and_then(|known| known.lateness)
                .map(|lateness| lateness.uncertainty_ns),
            start_wait_ns: last.and_then(|edge| edge.start_wait_ns),
            sender_wait_ns: last.map(|edge| edge.sender_wait_ns),
            receiver_wait_ns: last.map(|edge| edge.receiver_wait_ns),
            input_wait_ns: last.map(|edge| edge.input_wait_ns),
            transfer_ns: last.map(|edge| edge.transfer_ns),
            recovery_ns: last.map(|edge| edge.recovery_ns),
            paused_ns: last.and_then(|edge| edge.paused_ns),
            ce_packets: figures.ce_packets,
            cnps: figures.cnps,
            retransmitted_packets: figures.retransmitted_packets,
        }
    };
    collective.ranks.iter().zip(ranks).map(report).collect()
}

/// Where the time of a rank went in all collectives of the report together. Each figure is the sum of
/// the key of the same name in `collectives[].ranks[]`; `null` if unknown in all of them.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct RankWaitsReport {
    /// Collectives in which the others waited for it.
    pub late_collectives: u64,
    /// How long they waited.
    pub lag_ns: u64,
    /// How late it was; collectives in which it was early count as 0.
    pub late_ns: Option<u64>,
    /// Time until its first data packets.
    pub start_wait_ns: Option<u64>,
    /// Time in which it had data and a receive buffer for it, but did not send.
    pub sender_wait_ns: Option<u64>,
    /// Time without a receive buffer from the next rank.
    pub receiver_wait_ns: Option<u64>,
    /// Time in which it waited for the data that it forwards.
    pub input_wait_ns: Option<u64>,
    /// Time in which lost data was recovered.
    pub recovery_ns: Option<u64>,
    /// CE-marked data packets.
    pub ce_packets: Option<u64>,
    /// Packets that it retransmitted.
    pub retransmitted_packets: Option<u64>,
}

impl From<RankSums> for RankWaitsReport {
    fn from(sums: RankSums) -> Self {
        Self {
            late_collectives: sums.late_collectives,
            lag_ns: sums.lag_ns,
            late_ns: sums.late_ns,
            start_wait_ns: sums.start_wait_ns,
            sender_wait_ns: sums.sender_wait_ns,
            receiver_wait_ns: sums.receiver_wait_ns,
            input_wait_ns: sums.input_wait_ns,
            recovery_ns: sums.recovery_ns,
            ce_packets: sums.ce_packets,
            retransmitted_packets: sums.retransmitted_packets,
        }
    }
}
