//! Communicators of releases that print no id (2.2 to 2.15): which ranks belong together.
//!
//! Ranks of one host are joined by the edges between them, which name the other rank and, from 2.6
//! on, its GPU. What was joined is put together with what other hosts joined: ranks at the other ends of
//! edges first, then in the order in which processes created their communicators. All ranks of a
//! communicator take part in its creation, so any two of them create those that they share in the same
//! order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::membership::Membership;
use super::process::Process;
use crate::model::witness::Witness;

/// Index of a process, and of a membership in it.
type Place = (usize, usize);

/// A rank of a communicator without an id.
#[derive(Clone, Copy)]
struct Node<'a> {
    place: Place,
    process: &'a Process,
    member: &'a Membership,
    /// Number of communicators of this size that its process had created for this GPU before.
    ordinal: usize,
}

/// Ranks of one communicator, and what their edges say of others.
#[derive(Default)]
struct Ranks<'a> {
    by_number: BTreeMap<u32, Node<'a>>,
    /// Their processes and GPUs.
    places: BTreeSet<(usize, Option<u64>)>,
    /// Ranks at the other ends of their edges.
    peers: BTreeMap<u32, Peer<'a>>,
}

/// A rank at the other end of an edge.
#[derive(Clone, Copy)]
struct Peer<'a> {
    /// PCI id of its GPU.
    gpu: Option<u64>,
    /// Its host, if the edge stays within it.
    host: Option<&'a str>,
}

/// Communicators with room that are looked through; older ones are left as they are.
const OPEN: usize = 256;

/// The group of each membership without an id, by index of process and membership.
pub(super) fn join(processes: &[Process]) -> BTreeMap<Place, usize> {
    let mut by_size: BTreeMap<u32, Vec<Node<'_>>> = BTreeMap::new();
    for (at, process) in processes.iter().enumerate() {
        let mut created: BTreeMap<(u32, Option<u64>), usize> = BTreeMap::new();
        let unnamed = process.memberships.iter().enumerate();
        for (place, member) in unnamed.filter(|(_, one)| one.hash.is_none() && one.split.is_none())
        {
            let ordinal = created.entry((member.nranks, member.bus_id)).or_default();
            let node = Node { place: (at, place), process, member, ordinal: *ordinal };
            *ordinal += 1;
            by_size.entry(member.nranks).or_default().push(node);
        }
    }
    let mut groups = BTreeMap::new();
    let mut next = 0;
    for nodes in by_size.into_values() {
        for ranks in on_all_hosts(on_hosts(nodes)) {
            groups.extend(ranks.by_number.values().map(|node| (node.place, next)));
            next += 1;
        }
    }
    groups
}

/// Ranks joined by edges within their host, in order of creation.
fn on_hosts(mut nodes: Vec<Node<'_>>) -> Vec<Ranks<'_>> {
    nodes.sort_by_key(Node::order);
    let mut joined: Vec<Ranks<'_>> = Vec::new();
    let mut by_host: BTreeMap<(&str, usize), VecDeque<usize>> = BTreeMap::new();
    for node in nodes {
        // Ranks of a host create a communicator at the same time: only those of the same number can
        // belong together.
        let of_host = by_host.entry((node.process.host.as_str(), node.ordinal)).or_default();
        let mut own = Ranks::of(node);
        let mut first: Option<usize> = None;
        for at in of_host.iter().copied() {
            if joined[at].is_beside(&own) && joined[at].fits(&own) {
                own.add(std::mem::take(&mut joined[at]));
                first = first.or(Some(at));
            }
        }
        match first.and_then(|at| joined.get_mut(at)) {
            Some(ranks) => *ranks = own,
            None => {
                of_host.push_back(joined.len());
                joined.push(own);
                of_host.drain(..of_host.len().saturating_sub(OPEN));
            }
        }
    }
    joined.retain(|ranks| !ranks.by_number.is_empty());
    joined
}

/// Communicators: ranks of hosts, each put to the first that lacks them.
fn on_all_hosts(mut hosts: Vec<Ranks<'_>>) -> Vec<Ranks<'_>> {
    // By rank: most edges join neighbours, so the group of the rank before is known.
    hosts.sort_by_key(|ranks| {
        let (ordinal, first) = ranks.order().unzip();
        (ordinal, ranks.by_number.keys().next().copied(), first)
    });
    let mut whole: Vec<Ranks<'_>> = Vec::new();
    let mut open: VecDeque<usize> = VecDeque::new();
    for ranks in hosts {
        let fits = |at: &usize| whole[*at].fits(&ranks);
        let is_joined = |at: &usize| whole[*at].is_joined(&ranks) && fits(at);
        let known = open.iter().copied().find(is_joined);
        let known = known.or_else(|| open.iter().copied().find(fits));
        let at = known.unwrap_or(whole.len());
        match whole.get_mut(at) {
            Some(known) => known.add(ranks),
            None => {
                whole.push(ranks);
                open.push_back(at);
            }
        }
        if whole[at].is_complete() {
            open.retain(|one| *one != at);
        }
        open.drain(..open.len().saturating_sub(OPEN));
    }
    whole
}

impl Node<'_> {
    fn order(&self) -> (usize, Witness) {
        (self.ordinal, self.member.first)
    }
}

impl<'a> Ranks<'a> {
    fn of(node: Node<'a>) -> Self {
        let own = node.member.rank;
        let mut peers = BTreeMap::new();
        for edge in &node.member.setup.edges {
            let [sender, receiver] = edge.gpus;
            let (rank, gpu) = match own {
                rank if rank == edge.sender => (edge.receiver, receiver),
                rank if rank == edge.receiver => (edge.sender, sender),
                _ => continue,
            };
            let host = edge.network.is_none().then_some(node.process.host.as_str());
            peers.entry(rank).or_insert(Peer { gpu, host });
        }
        Self {
            by_number: [(own, node)].into(),
            // A process has several ranks only with several GPUs.
            places: [(node.place.0, node.member.bus_id)].into(),
            peers,
        }
    }

    fn add(&mut self, other: Self) {
        self.by_number.extend(other.by_number);
        self.places.extend(other.places);
        for (rank, peer) in other.peers {
            self.peers.entry(rank).or_insert(peer);
        }
    }

    fn order(&self) -> Option<(usize, Witness)> {
        self.by_number.values().map(Node::order).min()
    }

    fn is_complete(&self) -> bool {
        let first = self.by_number.values().next();
        first.is_some_and(|node| self.by_number.len() == node.member.nranks as usize)
    }

    /// Whether an edge joins `other` to one of these ranks.
    fn is_joined(&self, other: &Self) -> bool {
        let names =
            |one: &Self, two: &Self| two.by_number.keys().any(|rank| one.peers.contains_key(rank));
        names(self, other) || names(other, self)
    }

    /// Whether an edge within the host joins `other` to one of these ranks.
    fn is_beside(&self, other: &Self) -> bool {
        let names = |one: &Self, two: &Self| {
            let mut ranks = two.by_number.keys();
            ranks.any(|rank| one.peers.get(rank).is_some_and(|peer| peer.host.is_some()))
        };
        names(self, other) || names(other, self)
    }

    /// Whether `other` can be part of the same communicator: no rank twice, no process twice, no edge
    /// to another GPU or host.
    fn fits(&self, other: &Self) -> bool {
        let is_known = other.by_number.keys().any(|rank| self.by_number.contains_key(rank))
            || other.places.iter().any(|place| self.places.contains(place));
        !is_known && self.agrees(other) && other.agrees(self)
    }

    /// Whether no edge of these ranks contradicts what `other` is.
    fn agrees(&self, other: &Self) -> bool {
        let named =
            self.peers.iter().filter_map(|(rank, peer)| Some((peer, other.by_number.get(rank)?)));
        named.into_iter().all(|(peer, node)| {
            let same_gpu = peer.gpu.zip(node.member.bus_id).is_none_or(|(one, two)| one == two);
            same_gpu && peer.host.is_none_or(|host| host == node.process.host)
        })
    }
}
