//! Maps a report's communicators and ranks to those of the truth.
//!
//! A communicator is matched by its hash or magic; one that was inferred from traffic alone, by the
//! queue pairs between its ranks. Traffic does not show how the ranks of the latter were numbered: each
//! of its numbers maps to the rank that owns most of its queue pairs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::report::{self, Report};
use super::truth::{Connection, Truth};

/// The mapping.
pub(super) struct Matching<'a> {
    pub(super) truth: &'a Truth,
    pub(super) report: &'a Report,
    /// By the address and number of the queue pair that a packet goes to.
    queue_pairs: BTreeMap<(IpAddr, u32), End<'a>>,
    /// One for each of the report's communicators, in its order.
    pairs: Vec<Option<Pair>>,
}

/// One end of a connection, and what arrives there.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) connection: &'a Connection,
    /// Data arrives here; otherwise CTS and ACKs.
    pub(super) is_receiver: bool,
}

struct Pair {
    /// Place among the truth's communicators.
    truth: usize,
    /// World rank by the report's number.
    ranks: BTreeMap<u32, u32>,
}

/// Votes for one thing out of several.
struct Votes<T>(BTreeMap<T, usize>);

impl<'a> Matching<'a> {
    pub(super) fn new(truth: &'a Truth, report: &'a Report) -> Self {
        let mut queue_pairs = BTreeMap::new();
        for connection in truth.connections() {
            for &qpn in &connection.receiver_qpns {
                let end = End { connection, is_receiver: true };
                queue_pairs.insert((connection.receiver_ip, qpn), end);
            }
            for &qpn in &connection.sender_qpns {
                let end = End { connection, is_receiver: false };
                queue_pairs.insert((connection.sender_ip, qpn), end);
            }
        }
        let mut matching = Self { truth, report, queue_pairs, pairs: Vec::new() };
        matching.pair_communicators();
        matching
    }

    /// The end that packets from `src` to `dst` and `qpn` arrive at.
    pub(super) fn end(&self, src: &str, dst: &str, qpn: u32) -> Option<&End<'a>> {
        let (src, dst): (IpAddr, IpAddr) = (src.parse().ok()?, dst.parse().ok()?);
        self.queue_pairs.get(&(dst, qpn)).filter(|end| end.source() == src)
    }

    /// The report's communicators that have a place in the truth, with that place.
    pub(super) fn communicators(
        &self,
    ) -> impl Iterator<Item = (&'a report::Communicator, usize)> + '_ {
        let pairs = self.report.communicators.iter().zip(&self.pairs);
        pairs.filter_map(|(communicator, pair)| Some((communicator, pair.as_ref()?.truth)))
    }

    /// Place in the truth of the report's communicator `id`.
    pub(super) fn communicator(&self, id: &str) -> Option<usize> {
        self.communicators().find(|(communicator, _)| communicator.id == id).map(|(_, at)| at)
    }

    /// The world rank that number `rank` of the report's communicator `id` stands for.
    pub(super) fn world_rank(&self, id: &str, rank: u32) -> Option<u32> {
        let pairs = self.report.communicators.iter().zip(&self.pairs);
        let (_, pair) = pairs.into_iter().find(|(communicator, _)| communicator.id == id)?;
        pair.as_ref()?.ranks.get(&rank).copied()
    }

    /// The truth's connection that most queue pairs of `connection` belong to.
    pub(super) fn connection(&self, connection: &report::Connection) -> Option<&'a Connection> {
        let mut votes = Votes(BTreeMap::new());
        for end in self.receiving_ends(connection) {
            let c = end.connection;
            votes.add((c.comm, c.channel, c.sender, c.receiver));
        }
        let winner = votes.winner()?;
        self.truth.connections().find(|c| (c.comm, c.channel, c.sender, c.receiver) == winner)
    }

    fn receiving_ends<'b>(
        &'b self,
        connection: &'b report::Connection,
    ) -> impl Iterator<Item = &'b End<'a>> {
        let queue_pairs = connection.queue_pairs.iter();
        let ends = queue_pairs.filter_map(|pair| self.queue_pairs.get(&(pair.dst, pair.dst_qpn)));
        ends.filter(|end| end.is_receiver)
    }

    /// By identity first; each of the truth's communicators is matched once.
    fn pair_communicators(&mut self) {
        let communicators = &self.report.communicators;
        let mut places: Vec<Option<usize>> =
            communicators.iter().map(|communicator| self.place_by_identity(communicator)).collect();
        for (at, communicator) in communicators.iter().enumerate() {
            if places[at].is_none() {
                let place = self.place_by_queue_pairs(communicator);
                places[at] = place.filter(|place| !places.contains(&Some(*place)));
            }
        }
        self.pairs = communicators
            .iter()
            .zip(places)
            .map(|(communicator, place)| {
                place.map(|truth| Pair { truth, ranks: self.world_ranks(communicator, truth) })
            })
            .collect();
    }

    fn place_by_identity(&self, communicator: &report::Communicator) -> Option<usize> {
        let mut truths = self.truth.communicators.iter();
        truths.position(|truth| {
            let hashes = truth.comm_hash.iter().chain([&truth.magic]);
            hashes.into_iter().any(|hash| is_same_hash(hash, &communicator.id))
        })
    }

    fn place_by_queue_pairs(&self, communicator: &report::Communicator) -> Option<usize> {
        let mut votes = Votes(BTreeMap::new());
        for connection in &communicator.connections {
            self.receiving_ends(connection).for_each(|end| votes.add(end.connection.comm));
        }
        votes.winner()
    }

    /// World rank by the report's number.
    fn world_ranks(&self, communicator: &report::Communicator, truth: usize) -> BTreeMap<u32, u32> {
        if communicator.id_kind != "inferred" {
            let ranks = &self.truth.communicators[truth].ranks;
            return (0..).zip(ranks.iter().copied()).collect();
        }
        let mut votes: BTreeMap<u32, Votes<u32>> = BTreeMap::new();
        for connection in &communicator.connections {
            for End { connection: truth, .. } in self.receiving_ends(connection) {
                let ends =
                    [(connection.sender, truth.sender), (connection.receiver, truth.receiver)];
                for (number, rank) in ends.into_iter().filter_map(|(n, rank)| Some((n?, rank))) {
                    votes.entry(number).or_insert_with(|| Votes(BTreeMap::new())).add(rank);
                }
            }
        }
        let mut ranks = BTreeMap::new();
        for (number, votes) in votes {
            // Two numbers for one rank: the second is wrong.
            let winner = votes.winner().filter(|rank| !ranks.values().any(|other| other == rank));
            ranks.extend(winner.map(|rank| (number, rank)));
        }
        ranks
    }
}

impl End<'_> {
    /// Where packets that arrive here come from.
    fn source(&self) -> IpAddr {
        if self.is_receiver { self.connection.sender_ip } else { self.connection.receiver_ip }
    }

    /// The world rank that sends packets which arrive here, and the other.
    pub(super) fn ranks(&self) -> (u32, u32) {
        let Connection { sender, receiver, .. } = *self.connection;
        if self.is_receiver { (sender, receiver) } else { (receiver, sender) }
    }

    /// In the report's words.
    pub(super) fn role(&self) -> &'static str {
        if self.is_receiver { "data" } else { "control" }
    }
}

impl<T: Ord + Copy> Votes<T> {
    fn add(&mut self, candidate: T) {
        *self.0.entry(candidate).or_default() += 1;
    }

    /// With most votes; the smallest of equals.
    fn winner(&self) -> Option<T> {
        let mut best: Option<(T, usize)> = None;
        for (&candidate, &votes) in &self.0 {
            if best.is_none_or(|(_, most)| votes > most) {
                best = Some((candidate, votes));
            }
        }
        best.map(|(candidate, _)| candidate)
    }
}

/// Whether two 64-bit hashes in hexadecimal, with `0x` or without, are equal.
pub(super) fn is_same_hash(one: &str, other: &str) -> bool {
    let parse = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    parse(one).is_some_and(|hash| parse(other) == Some(hash))
}
