//! What the network did to a connection: packets lost and sent again, data slowed down.

use std::collections::BTreeMap;

use super::words::duration;
use super::{Case, Cause, Sign, Straggler};
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::edge::EdgeWaits;
use crate::analysis::wait::spread::lower_median;
use crate::link::job::{NetConnection, NetConnectionId, Transfer};
use crate::model::grade::Grade;

/// How long as many bytes take on each connection while nothing is marked: the lower median.
#[derive(Clone, Debug, Default)]
pub struct Baseline(BTreeMap<(NetConnectionId, u64), u64>);

impl Baseline {
    /// From all collectives.
    #[must_use]
    pub fn new(waits: &[CollectiveWaits]) -> Self {
        let mut data_ns: BTreeMap<(NetConnectionId, u64), Vec<u64>> = BTreeMap::new();
        for edge in waits.iter().flat_map(|waits| &waits.edges).filter(|edge| !is_marked(edge)) {
            data_ns.entry((edge.connection, edge.bytes)).or_default().push(edge.data_ns);
        }
        let median =
            |(key, data_ns): (_, Vec<u64>)| Some((key, lower_median(data_ns.into_iter())?));
        Self(data_ns.into_iter().filter_map(median).collect())
    }

    fn of(&self, edge: &EdgeWaits) -> Option<u64> {
        self.0.get(&(edge.connection, edge.bytes)).copied()
    }
}

/// The connection on which recovery held data up most. Who waits for its data is its victim: the
/// sender is named, and the cause says that it is not to blame.
#[must_use]
pub fn loss(case: &Case<'_>) -> Option<Straggler> {
    let recovering = case.waits.edges.iter().filter(|edge| edge.recovery_ns > 0);
    let held_up = |edge: &EdgeWaits| {
        delay(case, edge).map_or(edge.recovery_ns, |delay_ns| delay_ns.max(edge.refused_ns))
    };
    let delayed = recovering.map(|edge| (held_up(edge), edge));
    let (lag_ns, edge) = delayed.max_by_key(|(lag_ns, _)| *lag_ns)?;
    let text = |sender: u32, receiver: u32| {
        format!(
            "recovery took {} on a connection from rank {sender} to rank {receiver}, and held data \
             up by {}; packets sent again: {}",
            duration(edge.recovery_ns),
            duration(lag_ns),
            edge.retransmitted_packets
        )
    };
    let (rank, text) = named(case, edge, text)?;
    Some(Straggler {
        rank,
        lag_ns,
        cause: Cause::Loss,
        connection: Some(edge.connection),
        grade: Grade::Proven,
        evidence: vec![Sign { kind: "recovery", text, witness: Some(edge.first_witness) }],
    })
}

/// How much of the recovery on `edge` showed in when a message ended at the receiver: where only an
/// ACK was lost, data was there already. `None` without a tap at each end. Messages are compared with
/// the quickest of their connection, so that the clocks' difference does not matter.
fn delay(case: &Case<'_>, edge: &EdgeWaits) -> Option<u64> {
    let connection = case.job.connection(edge.connection)?;
    let transfers = &case.collective.transfers;
    let on = transfers.iter().find(|on| on.connection == edge.connection)?;
    // A tap that stands for both ends saw the same of both.
    let two = |transfer: &Transfer| transfer.sent.zip(transfer.received).filter(|(a, b)| a != b);
    let way = |transfer: &Transfer| {
        let (sent, received) = two(transfer)?;
        Some(received.last.relative_to(sent.last))
    };
    let quickest = connection.transfers.iter().filter_map(way).min()?;
    let slowest = connection.transfers.get(on.places.clone())?.iter().filter_map(way).max()?;
    Some(slowest.abs_diff(quickest).min(edge.recovery_ns))
}

/// The connection whose data took most longer than usual, while its packets were marked or its
/// sender was told to slow down.
#[must_use]
pub fn congestion(case: &Case<'_>, baseline: &Baseline) -> Option<Straggler> {
    let over_ns = |edge: &EdgeWaits| {
        let usual_ns = baseline.of(edge).filter(|_| is_marked(edge))?;
        Some((edge.data_ns.saturating_sub(usual_ns), usual_ns))
    };
    let edges = case.waits.edges.iter().filter_map(|edge| Some((over_ns(edge)?, edge)));
    let ((lag_ns, usual_ns), edge) = edges.max_by_key(|((over_ns, _), _)| *over_ns)?;
    let text = |sender: u32, receiver: u32| {
        let count = |count: Option<u64>| count.map_or("unknown".to_owned(), |n| n.to_string());
        format!(
            "data took {} on a connection from rank {sender} to rank {receiver}, and {} for as \
             many bytes while nothing was marked; CE marks: {}, CNPs: {}",
            duration(edge.data_ns),
            duration(usual_ns),
            count(edge.ce_packets),
            count(edge.cnps)
        )
    };
    let (rank, text) = named(case, edge, text)?;
    Some(Straggler {
        rank,
        lag_ns,
        cause: Cause::Congestion,
        connection: Some(edge.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind: "rate", text, witness: Some(edge.first_witness) }],
    })
}

/// The sender of an edge, and what is said of its two ranks.
fn named(
    case: &Case<'_>,
    edge: &EdgeWaits,
    text: impl Fn(u32, u32) -> String,
) -> Option<(u32, String)> {
    let connection = case.job.connection(edge.connection)?;
    let NetConnection { sender: Some(sender), receiver: Some(receiver), .. } = *connection else {
        return None;
    };
    Some((sender, text(sender, receiver)))
}

/// The network said that it was congested.
fn is_marked(edge: &EdgeWaits) -> bool {
    edge.ce_packets.unwrap_or(0) > 0 || edge.cnps.unwrap_or(0) > 0
}
