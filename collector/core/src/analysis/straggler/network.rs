//! What the network did to a connection: packets lost and retransmitted, data slowed down.

use std::collections::BTreeMap;

use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::edge::EdgeWaits;
use crate::link::job::{NetConnectionId, Transfer};
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// Usual nanoseconds for a number of bytes on each connection without marks: the lower median.
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

    fn usual_ns(&self, edge: &EdgeWaits) -> Option<u64> {
        self.0.get(&(edge.connection, edge.bytes)).copied()
    }

    /// How much longer a marked edge took than its bytes usually take; `None` for an edge without
    /// marks, or if nothing is known to compare with.
    #[must_use]
    pub fn excess_ns(&self, edge: &EdgeWaits) -> Option<u64> {
        let usual_ns = self.usual_ns(edge).filter(|_| is_marked(edge))?;
        Some(edge.data_ns.saturating_sub(usual_ns))
    }
}

/// The connection whose recovery delayed data most. The straggler is its sender, with the network as
/// the cause.
#[must_use]
pub fn loss(case: &Case<'_>) -> Option<Straggler> {
    let recovering = case.waits.edges.iter().filter(|edge| edge.recovery_ns > 0);
    let delayed = recovering.map(|edge| (held_up_ns(case, edge), edge));
    let (lag_ns, edge) = delayed.max_by_key(|(lag_ns, _)| *lag_ns)?;
    let (sender, receiver) = ranks(case, edge)?;
    let kind = SignKind::Recovery {
        sender,
        receiver,
        recovery_ns: edge.recovery_ns,
        delay_ns: lag_ns,
        resent: edge.retransmitted_packets,
    };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Loss,
        connection: Some(edge.connection),
        grade: Grade::Proven,
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// How long recovery held up data on `edge`; all of it where only one end was captured.
#[must_use]
pub fn held_up_ns(case: &Case<'_>, edge: &EdgeWaits) -> u64 {
    if edge.recovery_ns == 0 {
        return 0;
    }
    delay(case, edge).map_or(edge.recovery_ns, |delay_ns| delay_ns.max(edge.refused_ns))
}

/// How much of the recovery on `edge` delayed a message at the receiver: if only an ACK was lost,
/// the data had arrived. `None` without a tap at each end. Messages are compared with the quickest
/// of their connection, so the offset between the clocks does not matter.
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

/// The connection with the largest excess over its usual time while its packets were CE-marked or
/// its sender received CNPs.
#[must_use]
pub fn congestion(case: &Case<'_>, baseline: &Baseline) -> Option<Straggler> {
    let edges = case.waits.edges.iter().filter_map(|edge| Some((baseline.excess_ns(edge)?, edge)));
    let (lag_ns, edge) = edges.max_by_key(|(excess_ns, _)| *excess_ns)?;
    let usual_ns = baseline.usual_ns(edge)?;
    let (sender, receiver) = ranks(case, edge)?;
    let kind = SignKind::Rate {
        sender,
        receiver,
        data_ns: edge.data_ns,
        usual_ns,
        marks: edge.ce_packets,
        cnps: edge.cnps,
    };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Congestion,
        connection: Some(edge.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// The ranks that send and receive on an edge.
fn ranks(case: &Case<'_>, edge: &EdgeWaits) -> Option<(u32, u32)> {
    let connection = case.job.connection(edge.connection)?;
    connection.sender.zip(connection.receiver)
}

/// The network reported congestion.
fn is_marked(edge: &EdgeWaits) -> bool {
    edge.ce_packets.unwrap_or(0) > 0 || edge.cnps.unwrap_or(0) > 0
}
