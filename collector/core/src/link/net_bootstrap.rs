//! Bootstraps whose ring runs over NET/IB instead of TCP (`NCCL_OOB_NET_ENABLE`, 2.23 and later).
//!
//! Such a ring looks like data: the same exchange of queue pairs, clear-to-sends and WRITEs. What
//! it carries is the bootstrap's gathers (NCCL `src/bootstrap.cc`, `netRingAllGather`), and the tag of
//! its clear-to-sends counts the steps of a gather instead of naming a rank.

use std::collections::HashMap;
use std::net::SocketAddr;

use foldhash::fast::FixedState;

use super::connect::Draft;
use super::control::facts::ControlFacts;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{Communicator, CommunicatorId, NetConnection, Transfer};
use super::linker::Places;
use super::roster::Roster;
use crate::decode::nccl::layout::{LAYOUTS, Layout};
use crate::model::grade::Grade;
use crate::model::nccl::Graph;
use crate::model::witness::Witness;

/// Where ranks expect their predecessors on the ring, as they told the root and the root passed on.
pub(super) struct RingListeners(HashMap<SocketAddr, RingListener, FixedState>);

/// The listener of one rank.
#[derive(Clone, Copy)]
struct RingListener {
    magic: u64,
    rank: u32,
    nranks: u32,
    witness: Witness,
}

impl RingListeners {
    pub(super) fn new(facts: &ControlFacts) -> Self {
        let mut known = HashMap::default();
        for check_in in &facts.check_ins {
            let (Some(magic), Some(listener)) = (check_in.magic, check_in.ring_listener) else {
                continue;
            };
            let (rank, nranks, witness) = (check_in.rank, check_in.nranks, check_in.witness);
            known.insert(listener, RingListener { magic, rank, nranks, witness });
        }
        for (rank, nranks, reply) in facts.next_ranks() {
            let (Some(magic), Some(listener)) = (reply.magic, reply.next_ring_listener) else {
                continue;
            };
            let witness = reply.witness;
            known.entry(listener).or_insert(RingListener { magic, rank, nranks, witness });
        }
        Self(known)
    }

    /// The ring that `draft` is part of, if its exchange went to such a listener.
    pub(super) fn ring(&self, roster: &Roster, places: &Places, draft: &Draft) -> Option<Ring> {
        let listener = *self.0.get(&draft.exchange?.1)?;
        let communicator = *places.get(&roster.index_of(listener.magic)?)?;
        Some(Ring { communicator, listener })
    }
}

/// A bootstrap's ring, at one of its listeners.
pub(super) struct Ring {
    communicator: CommunicatorId,
    listener: RingListener,
}

impl Ring {
    /// `draft` as its connection.
    pub(super) fn connection(self, draft: Draft) -> NetConnection {
        let RingListener { rank, nranks, witness, .. } = self.listener;
        let mut connection = draft.into_connection(self.communicator);
        let before = (rank + nranks).checked_sub(1);
        connection.sender = before.and_then(|before| before.checked_rem(nranks));
        connection.receiver = Some(rank);
        connection.graph = Some(Graph::Bootstrap);
        connection.grade = Grade::Proven;
        let (kind, witness) = (EvidenceKind::CheckIn, Some(witness));
        add_evidence(&mut connection.evidence, Evidence { kind, witness, count: 1 });
        connection
    }
}

/// Extends the time of a communicator's bootstrap to the end of the gathers on `ring`; what follows
/// belongs to collectives and splits.
pub(super) fn extend(communicator: &mut Communicator, ring: &NetConnection) {
    let per_gather = communicator.nranks.map_or(0, |nranks| nranks.saturating_sub(1) as usize);
    let gathers =
        ring.transfers.get(..per_gather.saturating_mul(GATHERS)).unwrap_or(&ring.transfers);
    let last = gathers.iter().filter_map(Transfer::last_time).max();
    if let Some((bootstrap, last)) = communicator.bootstrap.as_mut().zip(last) {
        bootstrap.span.last = bootstrap.span.last.max(last);
    }
}

/// Whether the messages of a connection are a bootstrap's gathers: from the connection's first
/// message on, the addresses, PeerInfo and topology of one release, each of which is sent in n - 1 steps
/// whose numbers the clear-to-sends carry, into memory of exactly its size.
pub(super) fn is_ring(transfers: &[Transfer]) -> bool {
    let is_first = transfers.first().is_some_and(|first| first.is_numbered && first.number == 1);
    let sizes: Option<Vec<(u64, u32)>> = transfers.iter().map(gathered).collect();
    let Some(sizes) = sizes.filter(|_| is_first) else { return false };
    let gathers: Vec<&[(u64, u32)]> =
        sizes.chunk_by(|(size, tag), next| (*size, tag.saturating_add(1)) == *next).collect();
    let per_gather = gathers.first().map_or(0, |first| first.len());
    // Only the last gather may be cut off; it has at least begun.
    let (Some(last), true) = (gathers.last(), gathers.len() >= GATHERS) else { return false };
    let is_whole = |gather: &[(u64, u32)]| {
        gather.len() == per_gather && gather.first().is_some_and(|(_, tag)| *tag == 0)
    };
    let starts_at_zero = last.first().is_some_and(|(_, tag)| *tag == 0);
    let lens: Vec<usize> =
        gathers.iter().filter_map(|gather| gather.first()).map(|(len, _)| *len as usize).collect();
    gathers.iter().rev().skip(1).all(|gather| is_whole(gather))
        && starts_at_zero
        && last.len() <= per_gather
        && LAYOUTS.iter().any(|layout| lens.starts_with(&begins(layout)))
}

/// Gathers that show what a connection is: addresses, PeerInfo and topology.
const GATHERS: usize = 3;

/// Lengths of a release's first gathers.
fn begins(layout: &Layout) -> Vec<usize> {
    let addresses = layout.addresses.gathers.iter().copied();
    addresses.chain([layout.peer_info.len, layout.topology.len]).collect()
}

/// Size and step of a gather's message; `None` if it cannot be one.
fn gathered(transfer: &Transfer) -> Option<(u64, u32)> {
    let cts = transfer.cts?;
    let tag = cts.tag?;
    (transfer.bytes? == cts.capacity).then_some((cts.capacity, tag))
}
