//! Connections whose control plane was not captured: their ranks come from CTS tags, and their
//! communicators from the ring that the queue pairs form between hosts.
//!
//! A CTS names the rank that is to send (NCCL `src/transport/net.cc`): the sender is certain. The
//! receiver is certain only if its host sends for one rank itself, and the ranks of all hosts are
//! 0, 1, 2, .. without a gap: then every host has one rank.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::connect::Draft;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{
    Channel, Communicator, CommunicatorId, Identity, Job, NetConnection, NetConnectionId, Nic,
    Rank, Transfer, Transport,
};
use super::only::only;
use crate::model::grade::Grade;
use crate::model::witness::Witness;

/// A connection without a known communicator.
pub(super) type Homeless = (NetConnectionId, Draft);

/// A connection, with its number among the drafts.
pub(super) type Numbered = (NetConnectionId, NetConnection);

/// Assigns every connection without a communicator: to ranks known by their ports, else to
/// communicators inferred from traffic.
pub(super) fn place(job: &mut Job, homeless: Vec<Homeless>) -> Vec<Numbered> {
    let mut placed = Vec::new();
    let mut left = Vec::new();
    for (id, draft) in homeless {
        match Home::by_ports(job, &draft) {
            Some(home) => placed.push((id, home.connection(draft))),
            None => left.push((id, draft)),
        }
    }
    let groups = groups(left).into_iter().flat_map(jobs);
    for (number, group) in (0..).zip(groups) {
        placed.extend(add_inferred(job, number, group));
    }
    placed
}

/// The rank in the tags of the CTSs that messages answer, with their number; `witness` is the first
/// CTS.
fn tag_of(transfers: &[Transfer], witness: Option<Witness>) -> Option<(u32, Evidence)> {
    let mut tags: BTreeMap<u32, Evidence> = BTreeMap::new();
    for transfer in transfers {
        let Some(tag) = transfer.cts.and_then(|cts| cts.tag) else { continue };
        let first = Evidence { kind: EvidenceKind::CtsTag, witness, count: 0 };
        tags.entry(tag).or_insert(first).count += 1;
    }
    only(tags.into_iter())
}

/// The communicator and the ranks of a connection.
struct Home {
    communicator: CommunicatorId,
    sender: u32,
    receiver: Option<u32>,
    evidence: Evidence,
}

impl Home {
    /// For a connection between ports whose ranks other connections revealed.
    fn by_ports(job: &Job, draft: &Draft) -> Option<Self> {
        let pair = draft.queue_pairs.first()?;
        let (tag, evidence) = tag_of(&draft.traffic.transfers, draft.first_cts)?;
        let has_port =
            |rank: &&Rank, address: IpAddr| rank.nics.iter().any(|nic| nic.address == address);
        let candidates = (0..).zip(&job.communicators).filter_map(|(place, communicator)| {
            let mut senders = communicator.ranks.iter().filter(|rank| has_port(rank, pair.sender));
            let sender = senders.find(|rank| rank.top_rank.unwrap_or(rank.rank) == tag)?;
            let receivers = communicator.ranks.iter().filter(|rank| has_port(rank, pair.receiver));
            Some((place, sender.rank, only(receivers).map(|rank| rank.rank)))
        });
        let (place, sender, receiver) = only(candidates)?;
        Some(Self { communicator: CommunicatorId(place), sender, receiver, evidence })
    }

    fn connection(self, draft: Draft) -> NetConnection {
        let mut connection = draft.into_connection(self.communicator);
        connection.sender = Some(self.sender);
        connection.receiver = self.receiver;
        connection.grade = Grade::Inferred;
        add_evidence(&mut connection.evidence, self.evidence);
        connection
    }
}

/// Connections grouped by the hosts they join, directly or through others.
fn groups(homeless: Vec<Homeless>) -> Vec<Vec<Homeless>> {
    let mut group_of: BTreeMap<IpAddr, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<Homeless>> = Vec::new();
    for (id, draft) in homeless {
        let Some(pair) = draft.queue_pairs.first().copied() else { continue };
        let known = [pair.sender, pair.receiver].map(|address| group_of.get(&address).copied());
        let group = match known {
            [Some(one), Some(other)] if one != other => {
                let moved = std::mem::take(&mut groups[other]);
                groups[one].extend(moved);
                for group in group_of.values_mut().filter(|group| **group == other) {
                    *group = one;
                }
                one
            }
            [Some(group), _] | [_, Some(group)] => group,
            [None, None] => {
                groups.push(Vec::new());
                groups.len() - 1
            }
        };
        groups[group].push((id, draft));
        group_of.insert(pair.sender, group);
        group_of.insert(pair.receiver, group);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The connections of a group by job, in order of time: a job that runs again on the same hosts
/// connects the same ports again after all connections of the earlier one fell silent.
fn jobs(mut group: Vec<Homeless>) -> Vec<Vec<Homeless>> {
    let span = |draft: &Draft| {
        let transfers = &draft.traffic.transfers;
        let first = transfers.iter().filter_map(Transfer::first_time).min();
        first.zip(transfers.iter().filter_map(Transfer::last_time).max())
    };
    let ports = |draft: &Draft| draft.queue_pairs.first().map(|pair| (pair.sender, pair.receiver));
    group.sort_by_key(|(id, draft)| (span(draft).map(|(first, _)| first), *id));
    let mut jobs: Vec<Vec<Homeless>> = Vec::new();
    let mut end = None;
    for (id, draft) in group {
        let (first, last) = span(&draft).unzip();
        let is_later = first.zip(end).is_some_and(|(first, end)| first > end);
        match jobs.last_mut() {
            Some(job)
                if !is_later || job.iter().all(|(_, known)| ports(known) != ports(&draft)) =>
            {
                job.push((id, draft));
            }
            _ => jobs.push(vec![(id, draft)]),
        }
        end = end.max(last);
    }
    jobs
}

/// Adds the communicator that a group of connections implies; returns its connections.
fn add_inferred(job: &mut Job, number: u32, group: Vec<Homeless>) -> Vec<Numbered> {
    let communicator = CommunicatorId(job.communicators.len() as u32);
    let group = group.into_iter();
    let mut group: Vec<Numbered> =
        group.map(|(id, draft)| (id, draft.into_connection(communicator))).collect();
    let mut tags_of: BTreeMap<IpAddr, BTreeSet<u32>> = BTreeMap::new();
    let mut ranks: BTreeMap<u32, Rank> = BTreeMap::new();
    for (_, connection) in &mut group {
        let Some(pair) = connection.queue_pairs.first().copied() else { continue };
        tags_of.entry(pair.receiver).or_default();
        let tag = tag_of(&connection.transfers, connection.first_cts);
        let Some((tag, evidence)) = tag else { continue };
        connection.sender = Some(tag);
        connection.grade = Grade::Proven;
        tags_of.entry(pair.sender).or_default().insert(tag);
        let rank = ranks.entry(tag).or_insert_with(|| Rank::new(tag));
        rank.grade = Grade::Proven;
        for pair in &connection.queue_pairs {
            let nic = Nic { address: pair.sender, device: None };
            if !rank.nics.contains(&nic) {
                rank.nics.push(nic);
            }
        }
        add_evidence(&mut rank.evidence, evidence);
    }
    let nranks = ranks.len() as u32;
    let is_one_each = tags_of.values().all(|tags| tags.len() == 1)
        && tags_of.len() as u32 == nranks
        && ranks.keys().copied().eq(0..nranks);
    let next = if is_one_each { assign_receivers(&mut group, &tags_of) } else { BTreeMap::new() };
    let ring = ring_of(&next, nranks);
    let mut evidence = Vec::new();
    if ring.is_some() {
        let witness = None;
        let count = group.len() as u64;
        evidence.push(Evidence { kind: EvidenceKind::RingShape, witness, count });
    }
    job.communicators.push(Communicator {
        identity: Identity::Inferred(number),
        log_hash: None,
        nranks: is_one_each.then_some(nranks),
        release: None,
        releases: None,
        root: None,
        parent: None,
        ranks: ranks.into_values().collect(),
        channels: ring
            .map(|ring| Channel { channel: None, ring, tree: None })
            .into_iter()
            .collect(),
        transport: Transport::Ib,
        bootstrap: None,
        evidence,
        grade: Grade::Inferred,
    });
    group
}

/// Where every host has one rank: each connection's receiver, by its port. Returns the ranks that
/// each rank sends to.
fn assign_receivers(
    group: &mut [Numbered],
    tags_of: &BTreeMap<IpAddr, BTreeSet<u32>>,
) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (_, connection) in group {
        let Some(pair) = connection.queue_pairs.first() else { continue };
        connection.receiver = tags_of.get(&pair.receiver).and_then(|tags| tags.first().copied());
        if let Some((sender, receiver)) = connection.sender.zip(connection.receiver) {
            next.entry(sender).or_default().insert(receiver);
        }
    }
    next
}

/// The ring from every rank to its only successor through all of them.
fn ring_of(next: &BTreeMap<u32, BTreeSet<u32>>, nranks: u32) -> Option<Vec<u32>> {
    let mut ring = Vec::new();
    let mut rank = 0;
    for _ in 0..nranks {
        ring.push(rank);
        rank = only(next.get(&rank)?.iter().copied())?;
    }
    let is_closed = rank == 0 && ring.iter().collect::<BTreeSet<_>>().len() == ring.len();
    (is_closed && nranks > 1).then_some(ring)
}
