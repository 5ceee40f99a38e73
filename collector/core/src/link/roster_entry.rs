//! What the control plane says about one communicator.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::control::facts::{Ring, RingMember, Split};
use super::control::pool::Shared;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{Communicator, Identity, Rank, Transport};
use super::rings::Topology;
use crate::decode::nccl::hash::{CharSign, HashFunction};
use crate::decode::nccl::layout::ReleaseRange;
use crate::model::grade::Grade;
use crate::model::nccl::Release;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// From this release on, a split child greets with its commHash.
pub(super) const CHILD_MAGIC: Release = Release::new(2, 23, 0);

/// One communicator's facts.
#[derive(Clone, Debug)]
pub struct RosterEntry {
    /// The communicator, without ranks, channels and parent.
    pub communicator: Communicator,
    /// Index in the roster of the communicator it was split from.
    pub parent: Option<usize>,
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

impl RosterEntry {
    pub(super) fn new(magic: u64) -> Self {
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
            parent: None,
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
    pub(super) fn hash_function(&self) -> Option<HashFunction> {
        let of = |release| HashFunction::for_release(release, CharSign::Signed);
        if let Some(release) = self.communicator.release {
            return Some(of(release));
        }
        let range = self.communicator.releases?;
        (of(range.first) == of(range.last)).then(|| of(range.first))
    }

    pub(super) fn narrow(&mut self, releases: ReleaseRange) {
        let known = &mut self.communicator.releases;
        *known = match *known {
            Some(known) => Some(known.intersect(releases).unwrap_or(known)),
            None => Some(releases),
        };
    }

    pub(super) fn extend(&mut self, span: Span) {
        let known = self.bootstrap.get_or_insert(span);
        known.first = known.first.min(span.first);
        known.last = known.last.max(span.last);
    }

    pub(super) fn add_member(&mut self, member: &RingMember, witness: Witness) {
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
    pub(super) fn agrees(&self, ring: &Ring) -> bool {
        let is_same = |member: &Arc<Shared<RingMember>>| {
            let known = self.ranks.get(&member.rank).and_then(|rank| rank.listener);
            known.zip(member.peer_listener).is_none_or(|(known, seen)| known == seen)
        };
        ring.nranks.is_none_or(|seen| self.communicator.nranks.is_none_or(|known| known == seen))
            && ring.members.iter().all(is_same)
    }

    /// The rank that others reach at `listener`.
    pub(super) fn rank_listening_at(&self, listener: SocketAddr) -> Option<u32> {
        let mut ranks = self.ranks.values();
        ranks.find(|rank| rank.listener == Some(listener)).map(|rank| rank.rank)
    }
}

/// The rank with this number, added if it is new.
pub(super) fn rank_of(ranks: &mut BTreeMap<u32, Rank>, number: u32) -> &mut Rank {
    ranks.entry(number).or_insert_with(|| Rank::new(number))
}

/// Adds one frame as evidence.
pub(super) fn observed(evidence: &mut Vec<Evidence>, kind: EvidenceKind, witness: Witness) {
    add_evidence(evidence, Evidence { kind, witness: Some(witness), count: 1 });
}
