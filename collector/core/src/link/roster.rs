//! The roster: communicators and their ranks, according to the control plane.
//!
//! All connections that greet with one magic belong to one communicator. Its identity, commHash, is
//! computed as in NCCL: from the unique id, which is the magic and the root's address.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::FixedState;

use super::control::facts::{CheckIn, ControlFacts, Ring, RingMember, Setup, Split};
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{Communicator, Identity, Rank, Transport};
use super::rings::Topology;
use super::split;
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::{CharSign, HashFunction};
use crate::decode::nccl::layout::ReleaseRange;
use crate::decode::nccl::pid_hash;
use crate::decode::nccl::unique_id;
use crate::model::grade::Grade;
use crate::model::nccl::{Graph, Release};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Most communicators; the control plane of further ones is counted.
const CAPACITY: usize = 4096;

/// From this release on, a split child greets with its commHash.
pub(super) const CHILD_MAGIC: Release = Release::new(2, 23, 0);

/// Communicators and ranks.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// Communicators, oldest first, without connections.
    pub entries: Vec<Entry>,
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

/// One communicator's facts.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The communicator, without ranks and channels.
    pub communicator: Communicator,
    /// Its ranks, by number.
    pub ranks: BTreeMap<u32, Rank>,
    /// The magic that it greets with.
    pub magic: u64,
    /// commHash, if it follows from the gathers.
    pub comm_hash: Option<u64>,
    /// Its ranks' topologies.
    pub topology: Topology,
    /// Its ranks' split requests.
    pub splits: Vec<Split>,
    /// From the first check-in or ring frame to the end of the last gather.
    pub bootstrap: Option<Span>,
    /// The last rank to check in, with the time.
    pub last_check_in: Option<(Timestamp, u32)>,
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
    pub fn find(&self, magic: u64) -> Option<usize> {
        self.all(magic).first().copied()
    }

    fn all(&self, magic: u64) -> &[usize] {
        let magic = self.first_roots.get(&magic).unwrap_or(&magic);
        self.by_magic.get(magic).map_or(&[], Vec::as_slice)
    }

    /// The magics of roots other than the first, with their communicator's index.
    pub fn other_roots(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.first_roots.keys().filter_map(|magic| Some((*magic, self.find(*magic)?)))
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
    fn entry(&mut self, magic: u64, fits: impl Fn(&Entry) -> bool) -> Option<&mut Entry> {
        let magic = self.first_roots.get(&magic).copied().unwrap_or(magic);
        let known = self.all(magic).iter().copied().find(|at| fits(&self.entries[*at]));
        let place = match known {
            Some(place) => place,
            None if self.entries.len() < CAPACITY => {
                self.entries.push(Entry::new(magic));
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
        let Some(at) = known.or(self.find(magic)) else { return };
        let sender = listening(&at);
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

impl Entry {
    fn new(magic: u64) -> Self {
        Self {
            communicator: Communicator {
                identity: Identity::Magic(magic),
                log_hash: None,
                nranks: None,
                release: None,
                releases: None,
                root: None,
                parent: None,
                ranks: Vec::new(),
                channels: Vec::new(),
                transport: Transport::Unknown,
                bootstrap: None,
                evidence: Vec::new(),
                grade: Grade::Unknown,
            },
            ranks: BTreeMap::new(),
            magic,
            comm_hash: None,
            topology: Topology::default(),
            splits: Vec::new(),
            bootstrap: None,
            last_check_in: None,
        }
    }

    /// The release; for a range its first, whose layouts and hashes the others share.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        self.communicator.release.or(self.communicator.releases.map(|range| range.first))
    }

    /// How its releases hash, if they hash alike.
    fn hash_function(&self) -> Option<HashFunction> {
        let of = |release| HashFunction::of(release, CharSign::Signed);
        if let Some(release) = self.communicator.release {
            return Some(of(release));
        }
        let range = self.communicator.releases?;
        (of(range.first) == of(range.last)).then(|| of(range.first))
    }

    fn narrow(&mut self, releases: ReleaseRange) {
        let known = &mut self.communicator.releases;
        *known = match *known {
            Some(known) => Some(known.intersect(releases).unwrap_or(known)),
            None => Some(releases),
        };
    }

    fn extend(&mut self, span: Span) {
        let known = self.bootstrap.get_or_insert(span);
        known.first = known.first.min(span.first);
        known.last = known.last.max(span.last);
    }

    fn add_member(&mut self, member: &RingMember, witness: Witness) {
        let communicator = &mut self.communicator;
        if let Some(release) = member.release {
            let lowest = communicator.release.map_or(release, |known| known.min(release));
            communicator.release = Some(lowest);
        }
        let rank = rank_of(&mut self.ranks, member.rank);
        let listener = member.peer_listener.filter(|listener| !listener.ip().is_unspecified());
        rank.address = rank.address.or(listener.map(|listener| listener.ip()));
        rank.pid = rank.pid.or(member.pid);
        rank.bus_id = rank.bus_id.or(member.bus_id);
        rank.listener = rank.listener.or(listener);
        rank.pid_hash = rank.pid_hash.or(member.pid_hash);
        observed(&mut rank.evidence, EvidenceKind::RingGather, witness);
        if let Some(hash) = member.host_hash {
            self.topology.nodes.insert(member.rank, hash);
        }
        if let Some(topology) = &member.topology {
            self.topology.ranks.entry(member.rank).or_insert_with(|| topology.clone());
        }
    }

    /// Whether `ring` can be one of its connections: no rank is two processes.
    fn agrees(&self, ring: &Ring) -> bool {
        let is_same = |member: &RingMember| {
            let known = self.ranks.get(&member.rank).and_then(|rank| rank.listener);
            known.zip(member.peer_listener).is_none_or(|(known, seen)| known == seen)
        };
        ring.nranks.is_none_or(|seen| self.communicator.nranks.is_none_or(|known| known == seen))
            && ring.members.iter().all(is_same)
    }

    /// The rank that others reach at `listener`.
    fn rank_listening_at(&self, listener: SocketAddr) -> Option<u32> {
        let mut ranks = self.ranks.values();
        ranks.find(|rank| rank.listener == Some(listener)).map(|rank| rank.rank)
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

fn rank_of(ranks: &mut BTreeMap<u32, Rank>, number: u32) -> &mut Rank {
    ranks.entry(number).or_insert_with(|| Rank::new(number))
}

fn observed(evidence: &mut Vec<Evidence>, kind: EvidenceKind, witness: Witness) {
    add_evidence(evidence, Evidence { kind, witness: Some(witness), count: 1 });
}

#[cfg(test)]
mod tests;
