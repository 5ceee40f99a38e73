//! Where the time of a collective went on each edge of its rings: waits, transfer, recovery, pause.
//!
//! An edge is one connection. Its time in a collective begins when the sender has a receive buffer
//! and has left the previous collective, and ends with the last byte; `edge.rs` divides it into
//! parts. All times of an edge are from one tap, so no two clocks are compared (`view.rs`).
//! `rank.rs` compares the ranks of a collective, by clocks that can be compared (`departure.rs`).
//! `feed.rs` finds which connection feeds which where channels are unknown. `trouble.rs` and `pause.rs`
//! have what the network did, `blocked.rs` what a missing ACK held up, and `arrival.rs` when all data had
//! arrived.

pub mod arrival;
pub mod blocked;
pub mod departure;
pub mod edge;
pub mod feed;
pub mod left;
pub mod pause;
pub mod rank;
mod thresholds;
pub mod trouble;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use self::departure::DepartureClocks;
use self::edge::{EdgeWaits, Surroundings};
use self::feed::Feeds;
use self::left::Left;
use self::pause::Pauses;
use self::rank::{Comparison, RankWaits};
use self::trouble::Troubles;
use self::view::View;
use super::collective::{Collective, ConnectionTransfers};
use crate::link::job::{CommunicatorId, Job, NetConnection, NetConnectionId};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::{Span, Timestamp};

/// Where the time of one collective went, by connection and by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveWaits {
    /// By connection, ascending; without those whose messages no single tap saw.
    pub edges: Vec<EdgeWaits>,
    /// By rank, ascending.
    pub ranks: Vec<RankWaits>,
}

impl CollectiveWaits {
    /// What is known of a rank.
    #[must_use]
    pub fn of_rank(&self, rank: u32) -> Option<&RankWaits> {
        self.ranks.iter().find(|known| known.rank == rank)
    }

    /// The connection of a rank that ended last: its waits are the rank's.
    #[must_use]
    pub fn last_edge(&self, rank: u32) -> Option<&EdgeWaits> {
        self.edges.get(self.of_rank(rank)?.last_edge?)
    }
}

/// The waits of `collectives`, which are ordered by their first packets.
#[must_use]
pub fn measure(
    job: &Job,
    (troubles, pauses): (&Troubles, &Pauses<'_>),
    clocks: &DepartureClocks,
    feeds: &Feeds,
    collectives: &[Collective],
) -> Vec<CollectiveWaits> {
    let answers: Vec<QuickestAnswer> = job.connections.iter().map(QuickestAnswer::new).collect();
    let mut senders: BTreeMap<CommunicatorId, BTreeSet<u32>> = BTreeMap::new();
    for connection in job.connections.iter().filter(|one| one.carries_data()) {
        let known = job.communicator(connection.communicator);
        // Otherwise unknown ranks may be missing.
        if known.is_some_and(|known| known.nranks.is_some()) {
            senders.entry(connection.communicator).or_default().extend(connection.sender);
        }
    }
    let mut left = Left::default();
    let mut all: Vec<CollectiveWaits> = Vec::with_capacity(collectives.len());
    for collective in collectives {
        let edges: Vec<EdgeWaits> = collective
            .transfers
            .iter()
            .filter_map(|on| {
                let connection = job.connection(on.connection)?;
                let view = View::new(connection, on.places.clone())?;
                let place = on.connection.0 as usize;
                let surroundings = Surroundings {
                    left: left.before(collective, (on.connection, connection), &view),
                    quickest_answer_ns: answers.get(place).and_then(|known| known.for_view(&view)),
                    inputs: inputs((job, feeds), collective, on, connection, &view),
                    pauses: pauses.of_sender(on.connection),
                    receiver_pauses: pauses.by_receiver(on.connection),
                };
                edge::waits(on.connection, &view, &surroundings, troubles)
            })
            .collect();
        let senders = senders.get(&collective.communicator).map(BTreeSet::len);
        let comparison = senders.map(|senders| Comparison { clocks, senders });
        let ranks = rank::waits(job, collective, &edges, &left, comparison);
        left.note(job, collective, &edges);
        all.push(CollectiveWaits { edges, ranks });
    }
    all
}

/// Counts what could not be measured.
pub fn add_health(collectives: &[Collective], waits: &[CollectiveWaits], health: &mut Health) {
    let edges = collectives.iter().map(|collective| collective.transfers.len() as u64);
    let measured = waits.iter().map(|waits| waits.edges.len() as u64);
    health
        .add(HealthEvent::WaitsEdgesUnmeasured, edges.sum::<u64>().saturating_sub(measured.sum()));
}

/// The shortest time from a clear-to-send to its data at each end of a connection: a round trip and
/// both proxies.
#[derive(Clone, Copy, Debug, Default)]
struct QuickestAnswer {
    at_sender: Option<u64>,
    at_receiver: Option<u64>,
}

impl QuickestAnswer {
    fn new(connection: &NetConnection) -> Self {
        let mut quickest = Self::default();
        let shorten = |known: &mut Option<u64>, cts: Option<Timestamp>, data: Option<Span>| {
            let Some((cts, data)) = cts.zip(data) else { return };
            // Frames may have been captured in another order.
            if cts > data.first {
                return;
            }
            let answer = data.first.nanos_since(cts);
            *known = Some(known.map_or(answer, |known| known.min(answer)));
        };
        for transfer in &connection.transfers {
            let Some(cts) = transfer.cts else { continue };
            shorten(&mut quickest.at_sender, cts.arrived, transfer.sent);
            shorten(&mut quickest.at_receiver, cts.posted, transfer.received);
        }
        quickest
    }

    fn for_view(&self, view: &View<'_>) -> Option<u64> {
        if view.is_of_sender() { self.at_sender } else { self.at_receiver }
    }
}

/// For each message of `on`, when the data that it forwards had arrived at its sender, at the tap of
/// `view`; `None` if that was not captured or is ambiguous.
fn inputs<'a>(
    (job, feeds): (&'a Job, &Feeds),
    collective: &Collective,
    on: &ConnectionTransfers,
    connection: &NetConnection,
    view: &View<'a>,
) -> Option<edge::Inputs<'a>> {
    let ring = collective.ring_order?;
    if !view.is_of_sender() {
        return None;
    }
    let mut before = collective.transfers.iter().filter(|other| {
        let known = job.connection(other.connection);
        known.is_some_and(|known| {
            known.receiver == connection.sender
                && known.channel == connection.channel
                && other.connection != on.connection
        })
    });
    let on = match (before.next()?, before.next()) {
        (only, None) => only,
        // The channel is not known.
        (first, Some(second)) => {
            let fed_by = feeds.into(on.connection)?;
            let mut all = [first, second].into_iter().chain(before);
            all.find(|other| other.connection == fed_by)?
        }
    };
    let NetConnectionId(place) = on.connection;
    let known = job.connections.get(place as usize)?;
    let transfers = known.transfers.get(on.places.clone())?;
    Some(edge::Inputs { ring, transfers, from: known.sender })
}
