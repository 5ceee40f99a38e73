//! When all data of a collective had arrived: later than its last message if that was retransmitted.

use super::CollectiveWaits;
use super::edge::EdgeWaits;
use crate::analysis::collective::{Collective, ConnectionTransfers};
use crate::link::job::{Job, NetConnectionId, Transfer};
use crate::model::time::Timestamp;

/// Extends `collectives` to the end of the recoveries after their last messages. `waits` are theirs.
pub fn extend(job: &Job, waits: &[CollectiveWaits], collectives: &mut [Collective]) {
    for (collective, waits) in collectives.iter_mut().zip(waits) {
        let arrived = waits.edges.iter().filter_map(|edge| recovered(job, collective, edge));
        let last = arrived.max().unwrap_or(collective.span.last);
        collective.span.last = last.max(collective.span.last);
    }
}

/// The end of the recovery after the last message of `edge`; `None` without one, and if a tap saw all
/// data arrive: then only ACKs were missing.
fn recovered(job: &Job, collective: &Collective, edge: &EdgeWaits) -> Option<Timestamp> {
    let NetConnectionId(place) = edge.connection;
    let by_connection = |on: &ConnectionTransfers| on.connection;
    let on = collective.transfers.binary_search_by_key(&edge.connection, by_connection).ok()?;
    let on = collective.transfers.get(on)?;
    let transfers = job.connections.get(place as usize)?.transfers.get(on.places.clone())?;
    let is_open = edge.tail_recovery_ns > 0 && !transfers.iter().all(is_seen_to_arrive);
    is_open.then_some(edge.span.last)
}

/// Whether a tap at the receiver saw it. A tap that stands for both ends saw the same of both.
fn is_seen_to_arrive(transfer: &Transfer) -> bool {
    transfer.received.is_some() && transfer.received != transfer.sent
}
