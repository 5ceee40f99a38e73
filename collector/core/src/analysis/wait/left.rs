//! When each rank finished the previous collective.

use std::collections::BTreeMap;

use super::edge::EdgeWaits;
use super::view::View;
use crate::analysis::collective::Collective;
use crate::link::job::{CommunicatorId, Job, NetConnection, NetConnectionId};
use crate::model::time::Timestamp;

/// When each rank finished the previous collective.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// When it had received all data, at a tap of its own.
    ranks: BTreeMap<(CommunicatorId, u32), Timestamp>,
    /// When a connection's data was last sent or retransmitted; `true`: as seen by a tap next to
    /// its sender.
    connections: BTreeMap<(NetConnectionId, bool), Timestamp>,
}

impl Left {
    /// When `rank` left the collective that preceded `collective`.
    #[must_use]
    pub fn rank(&self, collective: &Collective, rank: u32) -> Option<Timestamp> {
        self.ranks.get(&(collective.communicator, rank)).copied()
    }

    /// When the sender of `connection`, whose number is `id`, had finished the previous collective,
    /// at the tap of `view`. A recovery after the last message belongs to that collective.
    pub(super) fn before(
        &self,
        collective: &Collective,
        (id, connection): (NetConnectionId, &NetConnection),
        view: &View<'_>,
    ) -> Option<Timestamp> {
        let recovered = self.connections.get(&(id, view.is_of_sender())).copied();
        let sent = view.end_before().max(recovered);
        let sender = connection.sender.filter(|_| view.is_of_sender());
        sent.max(sender.and_then(|rank| self.rank(collective, rank)))
    }

    pub(super) fn note(&mut self, job: &Job, collective: &Collective, edges: &[EdgeWaits]) {
        let ends = edges.iter().map(|edge| ((edge.connection, edge.is_at_sender), edge.span.last));
        self.connections.extend(ends);
        for on in &collective.transfers {
            let Some(connection) = job.connection(on.connection) else { continue };
            let transfers = connection.transfers.get(on.places.clone()).unwrap_or_default();
            let last = transfers.iter().filter_map(|one| Some(one.received?.last)).max();
            let edge = edges.binary_search_by_key(&on.connection, |edge| edge.connection);
            let edge = edge.ok().and_then(|place| edges.get(place));
            let last =
                last.map(|last| last.plus_nanos(edge.map_or(0, |edge| edge.tail_recovery_ns)));
            if let (Some(rank), Some(last)) = (connection.receiver, last) {
                let known = self.ranks.entry((collective.communicator, rank)).or_insert(last);
                *known = last.max(*known);
            }
        }
    }
}
