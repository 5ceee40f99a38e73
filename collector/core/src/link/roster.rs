//! The roster: communicators and their ranks, according to the control plane.
//!
//! All connections that greet with one magic belong to one communicator. Its identity, commHash, is
//! computed as in NCCL: from the unique id, which is the magic and the root's address.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::FixedState;

use super::control::facts::{CheckIn, ControlFacts, Ring, Setup};
use super::evidence::EvidenceKind;
use super::job::Identity;
use super::only::only;
use super::roster_entry::{RosterEntry, observed, rank_of};
use super::split;
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::CharSign;
use crate::decode::nccl::pid_hash;
use crate::decode::nccl::unique_id;
use crate::model::grade::Grade;
use crate::model::nccl::Graph;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Most communicators; the control plane of further ones is counted.
const CAPACITY: usize = 4096;

/// Communicators and ranks.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// Communicators, oldest first, without connections.
    pub entries: Vec<RosterEntry>,
    /// By the address and port of a NET receiver's listener: the owner of its connection. Ports are
    /// reused: in order of the set-up messages.
    pub listeners: HashMap<SocketAddr, Vec<Listener>, FixedState>,
    /// Magics that did not fit.
    pub dropped_magics: u64,
    /// Several per magic: until 2.22 all children of a communicator greet alike.
    by_magic: HashMap<u64, Vec<usize>, FixedState>,
    /// For a communicator with several roots: the first root's magic by those of the others.
    first_roots: HashMap<u64, u64, FixedState>,
}

/// A NET receiver's listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Index of the communicator in [`Roster::entries`].
    pub entry: usize,
    /// The sending rank.
    pub sender: Option<u32>,
    /// The listening and receiving rank.
    pub receiver: u32,
    /// The connection's graph.
    pub graph: Graph,
    /// Index among the channels between the two ranks, from 0.
    pub position: u32,
    /// The set-up message.
    pub witness: Witness,
}

impl Roster {
    /// Builds the roster from `facts`.
    #[must_use]
    pub fn new(facts: &ControlFacts) -> Self {
        let mut roster = Self { first_roots: first_roots(facts), ..Self::default() };
        roster.add_ids(facts);
        roster.add_check_ins(facts);
        for ring in &facts.rings {
            roster.add_ring(ring);
        }
        roster.add_replies(facts);
        roster.name();
        split::find_parents(&mut roster.entries);
        for setup in &facts.setups {
            roster.add_setup(setup);
        }
        roster.grade();
        roster
    }

    /// Index of the communicator that greets with `magic`.
    #[must_use]
    pub fn index_of(&self, magic: u64) -> Option<usize> {
        self.all(magic).first().copied()
    }

    fn all(&self, magic: u64) -> &[usize] {
        let magic = self.first_roots.get(&magic).unwrap_or(&magic);
        self.by_magic.get(magic).map_or(&[], Vec::as_slice)
    }

    /// The magics of roots other than the first, with their communicator's index.
    pub fn other_roots(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.first_roots.keys().filter_map(|magic| Some((*magic, self.index_of(*magic)?)))
    }

    /// The owner of the connection to the listener at `address`, by the latest set-up message up to
    /// `time`; the first one if all are later, because taps differ.
    #[must_use]
    pub fn listener(&self, address: SocketAddr, time: Timestamp) -> Option<&Listener> {
        let known = self.listeners.get(&address)?;
        let is_before = |known: &&Listener| match known.witness {
            Witness::Frame { time: seen, .. } => seen <= time,
            Witness::Line { .. } | Witness::Sample { .. } => true,
        };
        let time_of = |known: &&Listener| match known.witness {
            Witness::Frame { time, .. } => time,
            Witness::Line { .. } | Witness::Sample { .. } => Timestamp::EPOCH,
        };
        let latest = known.iter().filter(is_before).max_by_key(time_of);
        latest.or_else(|| known.iter().min_by_key(time_of))
    }

    /// The ranks of one communicator with this control plane address.
    pub fn ranks_at(&self, entry: usize, address: IpAddr) -> impl Iterator<Item = u32> + '_ {
        let ranks = self.entries.get(entry).into_iter().flat_map(|entry| entry.ranks.values());
        ranks.filter(move |rank| rank.address == Some(address)).map(|rank| rank.rank)
    }

    /// The communicator that greets with `magic` and that `fits`; a new one if there is none.
    fn entry(
        &mut self,
        magic: u64,
        fits: impl Fn(&RosterEntry) -> bool,
    ) -> Option<&mut RosterEntry> {
        let magic = self.first_roots.get(&magic).copied().unwrap_or(magic);
        let known = self.all(magic).iter().copied().find(|at| fits(&self.entries[*at]));
        let place = match known {
            Some(place) => place,
            None if self.entries.len() < CAPACITY => {
                self.entries.push(RosterEntry::new(magic));
                let place = self.entries.len() - 1;
                self.by_magic.entry(magic).or_default().push(place);
                place
            }
            None => {
                self.dropped_magics += 1;
                return None;
            }
        };
        self.entries.get_mut(place)
    }

    fn add_ids(&mut self, facts: &ControlFacts) {
        for stored in &facts.stored_ids {
            let Some(id) = unique_id::parse(&stored.id) else { continue };
            let Some(magic) = id.magic else { continue };
            let is_first = !self.first_roots.contains_key(&magic);
            let Some(entry) = self.entry(magic, |_| true) else { continue };
            if is_first {
                entry.communicator.root.get_or_insert(id.root);
            }
            observed(&mut entry.communicator.evidence, EvidenceKind::UniqueId, stored.witness);
        }
    }

    fn add_check_ins(&mut self, facts: &ControlFacts) {
        for check_in in &facts.check_ins {
            let entry = check_in.magic.and_then(|magic| self.entry(magic, |_| true));
            let Some(entry) = entry else { continue };
            let communicator = &mut entry.communicator;
            if check_in.root_index == 0 {
                communicator.root.get_or_insert(check_in.root);
            }
            communicator.nranks.get_or_insert(check_in.nranks);
            observed(&mut communicator.evidence, EvidenceKind::CheckIn, check_in.witness);
            let rank = rank_of(&mut entry.ranks, check_in.rank);
            rank.address.get_or_insert(check_in.address);
            observed(&mut rank.evidence, EvidenceKind::CheckIn, check_in.witness);
            entry.narrow(check_in.releases);
            if let Witness::Frame { time, .. } = check_in.witness {
                entry.last_check_in = entry.last_check_in.max(Some((time, check_in.rank)));
                entry.extend(Span { first: time, last: time });
            }
        }
    }

    /// The root names the next rank once that has checked in. It shares a host with rank 0 as a rule,
    /// whose check-in is then on no wire.
    fn add_replies(&mut self, facts: &ControlFacts) {
        for (number, _, reply) in facts.next_ranks() {
            let entry = reply.magic.and_then(|magic| self.entry(magic, |_| true));
            let (Some(entry), Some(listener)) = (entry, reply.next_ring_listener) else { continue };
            let rank = rank_of(&mut entry.ranks, number);
            if rank.address.is_none() {
                rank.address = Some(listener.ip());
                observed(&mut rank.evidence, EvidenceKind::CheckIn, reply.witness);
            }
        }
    }

    fn add_ring(&mut self, ring: &Ring) {
        let Some(magic) = ring.magic else { return };
        let Some(entry) = self.entry(magic, |entry| entry.agrees(ring)) else { return };
        entry.comm_hash = entry.comm_hash.or(ring.comm_hash);
        entry.narrow(ring.releases);
        entry.extend(ring.span);
        let communicator = &mut entry.communicator;
        communicator.nranks = communicator.nranks.or(ring.nranks);
        observed(&mut communicator.evidence, EvidenceKind::RingGather, ring.witness);
        for member in &ring.members {
            entry.add_member(member, ring.witness);
        }
        // Every ring connection shows the requests of all ranks but one: together they show all.
        for (call, split) in ring.splits.iter().enumerate() {
            match entry.splits.get_mut(call) {
                Some(known) => split::merge(known, split),
                None => entry.splits.push(split.clone()),
            }
        }
    }

    /// Computes the identity of each communicator, and the process ids behind hashes.
    fn name(&mut self) {
        for entry in &mut self.entries {
            entry.topology.nranks = entry.communicator.nranks.unwrap_or(0);
            let root = entry.communicator.root;
            let id = root.map(|root| unique_id::from_magic(entry.magic, root));
            let computed = id.zip(entry.hash_function());
            let computed = computed.map(|(id, function)| comm_hash::of_id(&id, function));
            if let Some(hash) = entry.comm_hash.or(computed) {
                entry.communicator.identity = Identity::CommHash(hash);
                // Until 2.24, ranks sent a hash of the PID instead of the PID.
                for rank in entry.ranks.values_mut().filter(|rank| rank.pid.is_none()) {
                    rank.pid =
                        rank.pid_hash.and_then(|pid_hash| pid_hash::find_pid(pid_hash, hash));
                }
            }
            entry.communicator.log_hash = id.map(|id| comm_hash::logged_id(&id, CharSign::Signed));
        }
    }

    fn add_setup(&mut self, setup: &Setup) {
        let Some(magic) = setup.magic else { return };
        let listening = |at: &usize| self.entries[*at].rank_listening_at(setup.to);
        let known = self.all(magic).iter().copied().find(|at| listening(at).is_some());
        let Some(at) = known.or(self.index_of(magic)) else { return };
        let sender = listening(&at).or_else(|| self.sender_of(setup, magic));
        for (position, listener) in (0..).zip(&setup.listeners) {
            let Some(listener) = *listener else { continue };
            let listeners = self.listeners.entry(listener).or_default();
            let known = listeners.iter_mut().find(|known| {
                (known.entry, known.receiver, known.graph) == (at, setup.from_rank, setup.graph)
            });
            match known {
                Some(known) => known.sender = known.sender.or(sender),
                None => listeners.push(Listener {
                    entry: at,
                    sender,
                    receiver: setup.from_rank,
                    graph: setup.graph,
                    position,
                    witness: setup.witness,
                }),
            }
        }
    }

    /// The rank that data comes from, by its distance; `None` if several communicators greet alike.
    fn sender_of(&self, setup: &Setup, magic: u64) -> Option<u32> {
        let nranks =
            self.entries.get(only(self.all(magic).iter().copied())?)?.communicator.nranks?;
        let is_rank = setup.from_rank < nranks && setup.distance < nranks;
        is_rank.then(|| (setup.from_rank + nranks - setup.distance) % nranks)
    }

    fn grade(&mut self) {
        for entry in &mut self.entries {
            let has_ranks = !entry.ranks.is_empty();
            entry.communicator.grade = if has_ranks { Grade::Proven } else { Grade::Inferred };
            for rank in entry.ranks.values_mut() {
                rank.grade = Grade::Proven;
            }
        }
    }
}

/// For communicators with several roots (`ncclCommInitRankScalable`, 2.23 and later): the first
/// root's magic, with which all ranks greet each other, by the magics of the others. The ring
/// reveals them: a rank is reached at the address that it gave its root.
fn first_roots(facts: &ControlFacts) -> HashMap<u64, u64, FixedState> {
    let rings: HashMap<SocketAddr, u64, FixedState> =
        facts.rings.iter().filter_map(|ring| Some((ring.listener, ring.magic?))).collect();
    let others = facts.check_ins.iter().filter(|check_in| check_in.root_index > 0);
    let first_of = |check_in: &CheckIn| {
        let first = rings.get(check_in.ring_listener.as_ref()?)?;
        let magic = check_in.magic?;
        (magic != *first).then_some((magic, *first))
    };
    others.filter_map(first_of).collect()
}

#[cfg(test)]
mod tests;
