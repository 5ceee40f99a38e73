//! Sends and receives, in the groups that ranks call: AlltoAlls, and any others.

mod group;
mod part;
mod send;

use std::collections::{BTreeMap, BTreeSet};

use self::group::{End, Group, Pair, PairSend};
use self::part::SendPart;
use self::send::Send;
use super::assemble;
use super::thresholds::ALL_TO_ALL_RANKS;
use super::traffic::Traffic;
use super::{Collective, ConnectionTransfers};
use crate::link::job::{Communicator, CommunicatorId, Job};
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::Span;

/// What a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    kind: CollectiveKind,
    /// As nccl-tests counts them; `None` if sends have different sizes, or messages are missing.
    bytes: Option<u64>,
    is_estimated: bool,
}

/// The groups of sends in `traffic`.
#[must_use]
pub fn collectives(job: &Job, communicator: CommunicatorId, traffic: &Traffic) -> Vec<Collective> {
    let mut parts: BTreeMap<Pair, Vec<SendPart>> = BTreeMap::new();
    let mut is_from_start = true;
    for place in &traffic.point_to_point {
        let lane = &traffic.lanes[*place];
        is_from_start &= lane.is_from_start;
        let found = part::parts(lane, *place);
        parts.entry(pair(job, traffic, *place)).or_default().extend(found);
    }
    let by_pair: BTreeMap<Pair, Vec<Send>> = parts
        .into_iter()
        .map(|(pair, parts)| (pair, send::sends(parts, traffic.is_cell_split)))
        .collect();
    let groups = group::groups(by_pair, is_from_start);
    let exchange = Exchange::new(job.communicator(communicator), traffic.nranks);
    let sizes: Vec<Sizes> = groups.iter().map(|group| Sizes::of(group, is_from_start)).collect();
    let calls = exchange.calls(&groups, &sizes);
    let all = groups.iter().zip(calls);
    let mut found: Vec<Collective> = all
        .filter_map(|(group, call)| collective(job, communicator, traffic, group, call))
        .collect();
    found.sort_by_key(|one| (one.span.first, one.span.last));
    found
}

/// The ranks that a lane joins; where one is unknown, its port.
fn pair(job: &Job, traffic: &Traffic, place: usize) -> Pair {
    let lane = &traffic.lanes[place];
    let connection = job.connection(lane.connection);
    let ports = connection.and_then(|connection| connection.queue_pairs.first());
    let end = |rank: Option<u32>, port| rank.map_or(End::Port(port), End::Rank);
    let sender = end(lane.sender, ports.map(|pair| pair.sender));
    (sender, end(lane.receiver, ports.map(|pair| pair.receiver)))
}

/// Which sends an AlltoAll shows on the network: all those between two hosts.
struct Exchange {
    /// The host of each rank; `None` if one is unknown: then every rank is on a host of its own.
    hosts: Option<BTreeMap<End, String>>,
    nranks: usize,
    /// Number of sends.
    sends: usize,
}

impl Exchange {
    fn new(communicator: Option<&Communicator>, nranks: usize) -> Self {
        let ranks = communicator.map_or(&[][..], |known| &known.ranks);
        let hosts: Option<BTreeMap<End, String>> =
            ranks.iter().map(|rank| Some((End::Rank(rank.rank), rank.place()?))).collect();
        let hosts = hosts.filter(|hosts| hosts.len() == nranks);
        let mut on_host: BTreeMap<&String, usize> = BTreeMap::new();
        for host in hosts.iter().flat_map(BTreeMap::values) {
            *on_host.entry(host).or_default() += 1;
        }
        let inside: usize = match hosts {
            Some(_) => on_host.values().map(|ranks| ranks * ranks).sum(),
            None => nranks,
        };
        Self { sends: (nranks * nranks).saturating_sub(inside), hosts, nranks }
    }

    /// Whether every send of the group is one of an AlltoAll.
    fn has(&self, group: &Group) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        let is_between = |(from, to): &Pair| {
            hosts.get(from).zip(hosts.get(to)).is_some_and(|(from, to)| from != to)
        };
        group.pairs.iter().all(is_between)
    }

    fn is_whole(&self, group: &Group) -> bool {
        group.pairs.len() == self.sends && self.has(group)
    }

    /// What each group is. Two ranks that send to each other may have called either: SendRecv. An
    /// AlltoAll of which sends are missing, where the capture has holes or begins or ends, is one next to
    /// a whole one.
    fn calls(&self, groups: &[Group], sizes: &[Sizes]) -> Vec<Call> {
        let whole = |at: usize| {
            let is_whole = self.nranks >= ALL_TO_ALL_RANKS && self.is_whole(groups.get(at)?);
            is_whole.then_some(sizes.get(at)?.each()).flatten()
        };
        let wholes: Vec<Option<u64>> = (0..groups.len()).map(whole).collect();
        let call = |at: usize| {
            let near = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
            let near = || near.clone().find_map(|at| wholes.get(at).copied().flatten());
            let total = |each: u64| each.saturating_mul(self.nranks as u64);
            match (wholes[at], sizes[at]) {
                (Some(each), sizes) => Call {
                    kind: CollectiveKind::AllToAll,
                    bytes: Some(total(each)),
                    is_estimated: sizes.is_partly_seen(),
                },
                (None, sizes) if near().is_some() && sizes.is_even && self.is_part(groups, at) => {
                    Call {
                        kind: CollectiveKind::AllToAll,
                        bytes: sizes.each().map(total),
                        is_estimated: sizes.each().is_some(),
                    }
                }
                (None, sizes) => Call {
                    kind: CollectiveKind::SendRecv,
                    bytes: sizes.each().filter(|_| !sizes.is_partly_seen()),
                    is_estimated: false,
                },
            }
        };
        (0..groups.len()).map(call).collect()
    }

    /// Whether the group at `at` has some of an AlltoAll's sends: most of them, or any at the ends of
    /// the capture.
    fn is_part(&self, groups: &[Group], at: usize) -> bool {
        let Some(group) = groups.get(at) else { return false };
        let is_end = at == 0 || at + 1 == groups.len();
        let is_enough = is_end || group.pairs.len() * 2 > self.sends;
        is_enough && self.has(group)
    }
}

/// The sizes of a group's sends.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// All known sizes are the same.
    is_even: bool,
    known: Option<u64>,
    has_unknown: bool,
}

impl Sizes {
    /// Of the first sends of a capture that begins amid them, parts may be missing.
    fn of(group: &Group, is_from_start: bool) -> Self {
        let size = |one: &PairSend| one.send.bytes().filter(|_| is_from_start || one.number > 0);
        let sizes: BTreeSet<Option<u64>> = group.sends.iter().map(size).collect();
        let known = sizes.last().copied().flatten();
        let has_unknown = sizes.contains(&None);
        Self { is_even: sizes.len() <= 1 + usize::from(has_unknown), known, has_unknown }
    }

    /// The size of every send, as far as known.
    fn each(self) -> Option<u64> {
        self.known.filter(|_| self.is_even)
    }

    const fn is_partly_seen(self) -> bool {
        self.has_unknown
    }
}

fn collective(
    job: &Job,
    communicator: CommunicatorId,
    traffic: &Traffic,
    group: &Group,
    call: Call,
) -> Option<Collective> {
    // Of parts that are missing altogether, nothing is to be shown.
    let is_seen = |part: &&SendPart| {
        let lane = &traffic.lanes[part.lane];
        lane.place_at(part.range.start) < lane.place_at(part.range.end)
    };
    let parts = || group.sends.iter().flat_map(|one| &one.send.parts).filter(is_seen);
    let first = parts().map(|part| part.span.first).min()?;
    let last = parts().map(|part| part.span.last).max()?;
    let connection = |part: &SendPart| {
        let lane = &traffic.lanes[part.lane];
        ConnectionTransfers {
            connection: lane.connection,
            places: lane.place_at(part.range.start)..lane.place_at(part.range.end),
            boundaries: Vec::new(),
        }
    };
    let named: BTreeSet<Option<u32>> = parts().map(|part| channel(job, traffic, part)).collect();
    // Where no source names them, the parts of one send are on a channel each.
    let most = group.sends.iter().map(|one| one.send.parts.len()).max().unwrap_or(0);
    let channels = named.len().max(most);
    let is_pair = traffic.nranks < ALL_TO_ALL_RANKS && group.pairs.len() > 1;
    let alternative = (is_pair && call.bytes.is_some()).then_some(CollectiveKind::AllToAll);
    let mut collective = Collective {
        communicator,
        sequence: 0,
        is_counted_from_init: false,
        kind: call.kind,
        alternatives: alternative.into_iter().collect(),
        algorithm: Algorithm::Unknown,
        protocol: Protocol::Simple,
        bytes: call.bytes,
        is_estimated: call.is_estimated,
        ring_order: None,
        channels: channels as u32,
        messages: 0,
        span: Span { first, last },
        parts: Vec::new(),
        ranks: Vec::new(),
        transfers: parts().map(connection).collect(),
        grade: Grade::Inferred,
        evidence: Vec::new(),
    };
    assemble::complete(job, &mut collective);
    Some(collective)
}

fn channel(job: &Job, traffic: &Traffic, part: &SendPart) -> Option<u32> {
    let connection = traffic.lanes[part.lane].connection;
    job.connection(connection)?.channel
}
