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
    Rank, Transport,
};
use super::only::only;
use crate::model::grade::Grade;

/// A connection without a known communicator.
pub(super) type Homeless = (NetConnectionId, Draft);

/// Assigns every connection without a communicator: to ranks known by their ports, else to
/// communicators inferred from traffic.
pub(super) fn place(job: &mut Job, homeless: Vec<Homeless>) {
    let left: Vec<usize> = homeless
        .iter()
        .map(|(id, _)| id.0 as usize)
        .filter(|at| !place_by_ports(job, *at))
        .collect();
    for (number, group) in (0..).zip(groups(job, &left)) {
        add_inferred(job, number, &group);
    }
}

/// The rank in the tags of the CTSs that a connection's messages answer, with their number.
fn tag_of(connection: &NetConnection) -> Option<(u32, Evidence)> {
    let mut tags: BTreeMap<u32, Evidence> = BTreeMap::new();
    for transfer in &connection.transfers {
        let Some(tag) = transfer.cts.and_then(|cts| cts.tag) else { continue };
        let witness = connection.first_cts;
        let first = Evidence { kind: EvidenceKind::CtsTag, witness, count: 0 };
        tags.entry(tag).or_insert(first).count += 1;
    }
    only(tags.into_iter())
}

/// Assigns a connection between ports whose ranks other connections revealed.
fn place_by_ports(job: &mut Job, at: usize) -> bool {
    let connection = &job.connections[at];
    let Some(pair) = connection.queue_pairs.first().copied() else { return false };
    let Some((tag, evidence)) = tag_of(connection) else { return false };
    let has_port =
        |rank: &&Rank, address: IpAddr| rank.nics.iter().any(|nic| nic.address == address);
    let candidates = job.communicators.iter().enumerate().filter_map(|(place, communicator)| {
        let mut senders = communicator.ranks.iter().filter(|rank| has_port(rank, pair.sender));
        let sender = senders.find(|rank| rank.top_rank.unwrap_or(rank.rank) == tag)?;
        let receivers = communicator.ranks.iter().filter(|rank| has_port(rank, pair.receiver));
        Some((place, sender.rank, only(receivers).map(|rank| rank.rank)))
    });
    let Some((place, sender, receiver)) = only(candidates) else { return false };
    let connection = &mut job.connections[at];
    connection.communicator = CommunicatorId(place as u32);
    connection.sender = Some(sender);
    connection.receiver = receiver;
    connection.grade = Grade::Inferred;
    add_evidence(&mut connection.evidence, evidence);
    true
}

/// Connections grouped by the hosts they join, directly or through others.
fn groups(job: &Job, places: &[usize]) -> Vec<Vec<usize>> {
    let mut group_of: BTreeMap<IpAddr, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in places {
        let Some(pair) = job.connections[*at].queue_pairs.first() else { continue };
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
        groups[group].push(*at);
        group_of.insert(pair.sender, group);
        group_of.insert(pair.receiver, group);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn add_inferred(job: &mut Job, number: u32, group: &[usize]) {
    let id = CommunicatorId(job.communicators.len() as u32);
    let mut tags_of: BTreeMap<IpAddr, BTreeSet<u32>> = BTreeMap::new();
    let mut ranks: BTreeMap<u32, Rank> = BTreeMap::new();
    for at in group {
        let connection = &mut job.connections[*at];
        connection.communicator = id;
        let Some(pair) = connection.queue_pairs.first().copied() else { continue };
        tags_of.entry(pair.receiver).or_default();
        let Some((tag, evidence)) = tag_of(connection) else { continue };
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
    let next = if is_one_each { assign_receivers(job, group, &tags_of) } else { BTreeMap::new() };
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
}

/// Where every host has one rank: each connection's receiver, by its port. Returns the ranks that
/// each rank sends to.
fn assign_receivers(
    job: &mut Job,
    group: &[usize],
    tags_of: &BTreeMap<IpAddr, BTreeSet<u32>>,
) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for at in group {
        let connection = &mut job.connections[*at];
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
