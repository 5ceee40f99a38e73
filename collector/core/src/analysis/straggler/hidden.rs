//! A late rank without network traffic: it uses shared memory, other ranks of its host use the
//! network.
//!
//! When one rank of a ring is late, every connection of the ring stops at a different message. The
//! sender `d` hops behind the late rank runs out of chunks to forward after `d` chunks, or out of
//! receive buffers after `n - d` windows, as the lack of buffers spreads backwards from the late
//! rank. So the message at which each connection stopped gives the rank that it waited for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::cause::{self, Timing};
use super::sign::{Sign, SignKind};
use super::{Case, Straggler};
use crate::analysis::wait::edge::Stall;
use crate::link::job::NetConnectionId;
use crate::model::grade::Grade;

/// Receive buffers that a receiver offers at a time (NCCL `net.cc`: the buffer has 8
/// steps, a message of a Simple ring takes two).
const WINDOW_CHUNKS: u64 = 2;

/// Connections that must agree on a rank. The channels of two hosts stop alike, so two connections
/// may agree on the wrong rank.
const LEAST_AGREEING: usize = 3;

/// A connection's longest stop, and the position of its sender in the ring.
struct Stop<'a> {
    connection: NetConnectionId,
    ring: &'a [u32],
    sender: usize,
    stall: Stall,
}

/// The rank without an edge for which most connections stopped.
#[must_use]
pub fn hidden_rank(case: &Case<'_>) -> Option<Straggler> {
    let per_chunk = case.collective.ring_order?.per_chunk;
    // Connections that are set up in a collective stop for that. TCP's buffers hide where a connection
    // has no more receive buffers.
    if !case.waits.edges.iter().all(|edge| edge.has_predecessor && !edge.is_on_tcp) {
        return None;
    }
    let hidden = hidden_ranks(case);
    if hidden.is_empty() {
        return None;
    }
    let stops = stops(case);
    let of_rank = |rank: u32| -> Vec<&Stop<'_>> {
        let is_for = |stop: &&Stop<'_>| stop.is_for(rank, per_chunk) == Some(true);
        stops.iter().filter(is_for).collect()
    };
    let by_rank: Vec<(u32, Vec<&Stop<'_>>)> =
        hidden.into_iter().map(|rank| (rank, of_rank(rank))).collect();
    let most = by_rank.iter().map(|(_, stops)| stops.len()).max()?;
    let mut best = by_rank.iter().filter(|(_, stops)| stops.len() == most);
    let (rank, matching) = best.next()?;
    // Half of the connections must agree on one rank, which seldom happens by chance.
    if best.next().is_some() || matching.len() * 2 < stops.len() || matching.len() < LEAST_AGREEING
    {
        return None;
    }
    let sum: u64 = matching.iter().map(|stop| stop.stall.duration_ns).sum();
    let lag_ns = sum.checked_div(matching.len() as u64)?;
    let longest = matching.iter().max_by_key(|stop| stop.stall.duration_ns)?;
    let kind = SignKind::StallIndex {
        rank: *rank,
        stopped: matching.len() as u64,
        connections: stops.len() as u64,
        mean_ns: lag_ns,
    };
    let stall = Sign { kind, witness: Some(longest.stall.witness) };
    let timing = Timing::new(case, *rank, lag_ns);
    Some(Straggler {
        rank: *rank,
        lag_ns,
        cause: cause::of_late_rank(timing.as_ref()),
        connection: Some(longest.connection),
        grade: Grade::Inferred,
        evidence: std::iter::once(stall).chain(timing.as_ref().map(Timing::sign)).collect(),
    })
}

impl Stop<'_> {
    /// Whether it stopped where a late `rank` would stop it; `None` if that rank is not in the
    /// ring.
    fn is_for(&self, rank: u32, per_chunk: u64) -> Option<bool> {
        let late = self.ring.iter().position(|other| *other == rank)?;
        let hops = (self.sender + self.ring.len() - late) % self.ring.len();
        let back = self.ring.len() - hops;
        let chunks = (hops as u64).min(back as u64 * WINDOW_CHUNKS);
        Some(self.stall.before_message == chunks * per_chunk)
    }
}

/// Ranks in a ring without an outgoing connection, on hosts of which another rank was seen to send.
/// Hosts without a capture are skipped.
fn hidden_ranks(case: &Case<'_>) -> BTreeSet<u32> {
    let Case { job, collective, waits } = *case;
    let Some(communicator) = job.communicator(collective.communicator) else {
        return BTreeSet::new();
    };
    let sends = |id: NetConnectionId| job.connection(id)?.sender;
    let visible: BTreeSet<u32> =
        waits.edges.iter().filter_map(|edge| sends(edge.connection)).collect();
    let of_job = job.connections.iter().filter(|one| one.communicator == collective.communicator);
    let of_job = of_job.filter(|one| one.carries_data());
    let senders: BTreeSet<u32> = of_job.filter_map(|one| one.sender).collect();
    let address = |rank: u32| communicator.ranks.iter().find(|one| one.rank == rank)?.address;
    let hosts: BTreeSet<IpAddr> = visible.into_iter().filter_map(address).collect();
    let rings = communicator.channels.iter().flat_map(|one| one.ring.iter().copied());
    let hidden = rings.filter(|rank| !senders.contains(rank));
    hidden.filter(|rank| address(*rank).is_some_and(|host| hosts.contains(&host))).collect()
}

fn stops<'a>(case: &Case<'a>) -> Vec<Stop<'a>> {
    let communicator = case.job.communicator(case.collective.communicator);
    let stop = |edge: &crate::analysis::wait::edge::EdgeWaits| {
        let connection = case.job.connection(edge.connection)?;
        let mut channels = communicator?.channels.iter();
        let ring = &channels.find(|known| known.channel == connection.channel)?.ring;
        let sender = ring.iter().position(|rank| Some(*rank) == connection.sender)?;
        Some(Stop { connection: edge.connection, ring, sender, stall: edge.stall? })
    };
    case.waits.edges.iter().filter_map(stop).collect()
}

#[cfg(test)]
mod tests {
    use super::{NetConnectionId, Stall, Stop};
    use crate::model::tap::TapId;
    use crate::model::time::Timestamp;
    use crate::model::witness::Witness;

    /// Seen on NCCL 2.27.5 with 8 ranks on 4 nodes, when rank 4 was late.
    #[test]
    fn connections_stop_where_the_late_rank_stops_them() {
        let ring = [0, 1, 2, 3, 4, 5, 6, 7];
        let time = Timestamp::EPOCH;
        let witness = Witness::Frame { tap: TapId(0), number: 1, time };
        let is_for = |sender: usize, before_message: u64, rank: u32| {
            let stall = Stall { before_message, duration_ns: 1, end: time, witness };
            let stop = Stop { connection: NetConnectionId(0), ring: &ring, sender, stall };
            stop.is_for(rank, 2)
        };
        for (sender, message) in [(5, 2), (7, 6), (1, 10), (3, 4)] {
            assert_eq!(is_for(sender, message, 4), Some(true), "{sender}");
            assert_eq!(is_for(sender, message, 0), Some(false), "{sender}");
        }
        assert_eq!(is_for(5, 2, 9), None);
    }
}
