//! Communicators, joined from the logs of their ranks.

use std::collections::{BTreeMap, BTreeSet};

use super::membership::{EdgeFact, Membership};
use super::process::Process;
use super::tracker::LogFacts;
use super::unnamed;
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::HashFunction;
use crate::decode::nccl_log::communicator::Split;
use crate::decode::nccl_log::graph::EdgeEnd;
use crate::link::evidence::{Evidence, EvidenceKind};
use crate::link::job::{
    Channel, Communicator, CommunicatorId, Identity, Job, LoggedCall, NetConnection, Nic, Rank,
    Transport, TreeNode,
};
use crate::model::grade::Grade;
use crate::model::nccl::{Graph, Release};

/// A membership: index of its process, and its index there.
type MembershipIndex = (usize, usize);

/// What identifies a communicator across processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// `commId`.
    Hash(u64),
    /// The child of a communicator (index among the groups), its number and colour.
    Child(usize, u32, i32),
    /// The number of a group whose ranks were joined without an identifier.
    Unnamed(usize),
    /// Nothing joins it to others.
    Alone(MembershipIndex),
}

/// From this release on `commId` is the commHash.
const COMM_HASH_SINCE: Release = Release::new(2, 26, 0);

/// Memberships that are ranks of one communicator.
struct Group<'a> {
    key: Key,
    ranks: BTreeMap<u32, (&'a Process, &'a Membership)>,
}

/// The communicators of logs, and the communicator of each membership.
#[derive(Default)]
struct Groups<'a> {
    list: Vec<Group<'a>>,
    by_key: BTreeMap<Key, usize>,
    by_place: BTreeMap<MembershipIndex, usize>,
}

/// Facts from logs alone.
#[derive(Clone, Debug, Default)]
pub struct LinkedLogs {
    /// Communicators (children after their parents), the connections between their nodes, and
    /// calls.
    pub job: Job,
    /// The communicator of each membership, by index of the process in [`LogFacts::processes`] and
    /// of the membership in it.
    pub memberships: BTreeMap<(usize, usize), CommunicatorId>,
    /// Network names between the nodes of each communicator, by index in the job: those of its
    /// edges, or those its ranks chose if no edge was printed.
    pub networks: Vec<BTreeSet<String>>,
}

impl LogFacts {
    /// Joins the ranks in the logs of different processes into communicators.
    #[must_use]
    pub fn link(&self) -> LinkedLogs {
        let groups = Groups::from_processes(&self.processes);
        let mut job = Job::default();
        for group in &groups.list {
            let parent = match group.key {
                Key::Child(parent, ..) => Some(CommunicatorId(parent as u32)),
                _ => group.parent(&groups),
            };
            let known = |id: CommunicatorId| job.communicator(id);
            let communicator = group.communicator(parent, parent.and_then(known), &job);
            let id = job.add_communicator(communicator);
            group.add_connections(id, &mut job.connections);
            group.add_calls(id, &mut job.calls);
        }
        let places = groups.by_place.iter();
        let memberships = places.map(|(place, at)| (*place, CommunicatorId(*at as u32))).collect();
        LinkedLogs { job, memberships, networks: groups.list.iter().map(Group::networks).collect() }
    }
}

impl<'a> Groups<'a> {
    fn from_processes(processes: &'a [Process]) -> Self {
        let mut groups = Self::default();
        let all = || {
            processes.iter().enumerate().flat_map(|(process, facts)| {
                let members = facts.memberships.iter().enumerate();
                members.map(move |(at, member)| ((process, at), facts, member))
            })
        };
        // Parents before children: each round handles those whose parents are done.
        let is_root = |member: &Membership| member.split.is_none();
        let unnamed = unnamed::join(processes);
        for (place, process, member) in all().filter(|(.., member)| is_root(member)) {
            let key = match (member.hash, unnamed.get(&place)) {
                (Some(hash), _) => Key::Hash(hash),
                (None, Some(group)) => Key::Unnamed(*group),
                (None, None) => Key::Alone(place),
            };
            groups.add(key, place, process, member);
        }
        loop {
            let before = groups.by_place.len();
            for (place, process, member) in all() {
                let Some((split, parent)) = &member.split else { continue };
                if groups.by_place.contains_key(&place) {
                    continue;
                }
                let key = match (member.hash, parent) {
                    (Some(hash), _) => Key::Hash(hash),
                    (None, None) => Key::Alone(place),
                    (None, Some(parent)) => match groups.by_place.get(&(place.0, *parent)) {
                        Some(at) => Key::Child(*at, number(process, place.1, split), split.color),
                        None => continue,
                    },
                };
                groups.add(key, place, process, member);
            }
            if groups.by_place.len() == before {
                return groups;
            }
        }
    }

    fn add(
        &mut self,
        key: Key,
        place: MembershipIndex,
        process: &'a Process,
        member: &'a Membership,
    ) {
        let at = *self.by_key.entry(key).or_insert_with(|| {
            self.list.push(Group { key, ranks: BTreeMap::new() });
            self.list.len() - 1
        });
        self.by_place.insert(place, at);
        self.list[at].ranks.entry(member.rank).or_insert((process, member));
    }
}

/// The child's number: printed, or its position among the children of the same parent.
fn number(process: &Process, at: usize, split: &Split) -> u32 {
    let before = process.memberships.iter().take(at);
    let siblings =
        before.filter(|member| member.split.is_some_and(|(other, _)| other.parent == split.parent));
    split.number.unwrap_or_else(|| siblings.count() as u32 + 1)
}

impl Group<'_> {
    fn members(&self) -> impl Iterator<Item = &Membership> {
        self.ranks.values().map(|(_, member)| *member)
    }

    /// The parent of a child that has a hash of its own.
    fn parent(&self, groups: &Groups<'_>) -> Option<CommunicatorId> {
        let (process, member) = self.ranks.values().next()?;
        let parent = process.memberships.get(member.split?.1?)?;
        let holds = |group: &Group<'_>| group.members().any(|held| std::ptr::eq(held, parent));
        Some(CommunicatorId(groups.list.iter().position(holds)? as u32))
    }

    fn communicator(
        &self,
        parent_id: Option<CommunicatorId>,
        parent: Option<&Communicator>,
        job: &Job,
    ) -> Communicator {
        let releases = self.ranks.values().filter_map(|(process, _)| process.release);
        let release = releases.min();
        let ranks: Vec<Rank> =
            self.ranks.values().map(|(process, member)| rank(process, member, parent)).collect();
        let lines = self.members().map(|member| member.lines).sum();
        let first = self.members().map(|member| member.first).min();
        Communicator {
            identity: self.identity(release, parent, job),
            log_hash: None,
            nranks: self.members().map(|member| member.nranks).max(),
            release,
            releases: None,
            root: None,
            parent: parent_id,
            channels: self.channels(),
            transport: transport(&self.networks()),
            bootstrap: None,
            ranks,
            evidence: vec![Evidence { kind: EvidenceKind::Log, witness: first, count: lines }],
            grade: Grade::Proven,
        }
    }

    fn identity(
        &self,
        release: Option<Release>,
        parent: Option<&Communicator>,
        job: &Job,
    ) -> Identity {
        let has_comm_hash = release.is_some_and(|release| release >= COMM_HASH_SINCE);
        let parent = parent.map(|parent| parent.identity);
        match (self.key, parent) {
            (Key::Hash(hash), _) if has_comm_hash => Identity::CommHash(hash),
            (Key::Hash(hash), _) => Identity::LogHash(hash),
            (Key::Child(_, number, color), Some(Identity::CommHash(parent))) => {
                let counter = number.cast_signed();
                Identity::CommHash(comm_hash::of_split(
                    parent,
                    counter,
                    color,
                    HashFunction::TwoLane,
                ))
            }
            _ => {
                let is_inferred =
                    |known: &&Communicator| matches!(known.identity, Identity::Inferred(_));
                Identity::Inferred(job.communicators.iter().filter(is_inferred).count() as u32)
            }
        }
    }

    /// Channels with a known ring or tree.
    fn channels(&self) -> Vec<Channel> {
        let numbers = self.members().flat_map(|member| {
            let setup = &member.setup;
            let graph = setup.rings.keys().chain(setup.ring_places.keys());
            graph.chain(setup.tree_places.keys())
        });
        let numbers: BTreeSet<u32> = numbers.copied().collect();
        numbers.into_iter().map(|channel| self.channel(channel)).collect()
    }

    fn channel(&self, channel: u32) -> Channel {
        let nranks = self.members().map(|member| member.nranks).max().unwrap_or(0) as usize;
        let is_whole = |ring: &&Vec<u32>| ring.len() == nranks;
        let printed =
            self.members().find_map(|member| member.setup.rings.get(&channel).filter(is_whole));
        let nodes = self.members().filter_map(|member| member.setup.tree_places.get(&channel));
        let nodes: Vec<TreeNode> = nodes
            .map(|place| TreeNode {
                rank: place.rank,
                up: place.up,
                down: place.down.iter().flatten().copied().collect(),
            })
            .collect();
        Channel {
            channel: Some(channel),
            ring: printed
                .cloned()
                .or_else(|| self.followed_ring(channel, nranks))
                .unwrap_or_default(),
            tree: (!nodes.is_empty()).then_some(nodes),
        }
    }

    /// The ring from all ranks' own neighbours, starting at rank 0.
    fn followed_ring(&self, channel: u32, nranks: usize) -> Option<Vec<u32>> {
        let mut ring = vec![0];
        loop {
            let (_, member) = self.ranks.get(ring.last()?)?;
            match member.setup.ring_places.get(&channel)?.next {
                0 if ring.len() == nranks => return Some(ring),
                next if next != 0 && ring.len() < nranks => ring.push(next),
                _ => return None,
            }
        }
    }

    fn networks(&self) -> BTreeSet<String> {
        let edges = self.members().flat_map(|member| &member.setup.edges);
        let used: BTreeSet<String> = edges.filter_map(|edge| edge.network.clone()).collect();
        if !used.is_empty() {
            return used;
        }
        self.members().filter_map(|member| member.setup.network.clone()).collect()
    }

    /// Connections between nodes: if both ends print one, it is listed once.
    fn add_connections(&self, id: CommunicatorId, into: &mut Vec<NetConnection>) {
        let mut connections: BTreeMap<_, NetConnection> = BTreeMap::new();
        let edges = self.members().flat_map(|member| &member.setup.edges);
        for edge in edges.filter(|edge| edge.network.is_some()) {
            let is_point_to_point = edge.connection_index == Some(1);
            let key = (edge.channel, edge.sender, edge.receiver, is_point_to_point);
            let known = connections.entry(key).or_insert_with(|| connection(id, edge));
            if let Some(evidence) = known.evidence.first_mut() {
                evidence.count += 1;
                evidence.witness = evidence.witness.min(Some(edge.witness));
            }
        }
        into.extend(connections.into_values());
    }

    fn add_calls(&self, id: CommunicatorId, into: &mut Vec<LoggedCall>) {
        for member in self.members() {
            // A call with an unknown datatype has no known size.
            into.extend(member.calls.iter().filter_map(|call| {
                Some(LoggedCall {
                    communicator: id,
                    rank: member.rank,
                    number: call.number,
                    kind: call.kind,
                    bytes: call.bytes?,
                    root: call.root,
                    witness: call.witness,
                })
            }));
        }
    }
}

fn connection(id: CommunicatorId, edge: &EdgeFact) -> NetConnection {
    let is_point_to_point = edge.connection_index == Some(1);
    NetConnection {
        communicator: id,
        sender: Some(edge.sender),
        receiver: Some(edge.receiver),
        channel: Some(edge.channel),
        graph: is_point_to_point.then_some(Graph::PointToPoint),
        queue_pairs: Vec::new(),
        exchange: None,
        socket: None,
        first_cts: None,
        matched: 0,
        unmatched: 0,
        transfers: Vec::new(),
        unanswered: None,
        evidence: vec![Evidence { kind: EvidenceKind::Log, witness: Some(edge.witness), count: 0 }],
        grade: Grade::Proven,
    }
}

fn rank(process: &Process, member: &Membership, parent: Option<&Communicator>) -> Rank {
    let in_parent = member.split.and_then(|(_, at)| process.memberships.get(at?));
    let top_rank = match in_parent {
        Some(parent_member) => parent
            .and_then(|parent| parent.ranks.iter().find(|rank| rank.rank == parent_member.rank))
            .and_then(|rank| rank.top_rank),
        None => member.split.is_none().then_some(member.rank),
    };
    Rank {
        top_rank,
        host: Some(process.host.clone()),
        address: process.bootstrap.as_ref().and_then(|(_, address)| *address),
        pid: Some(process.pid),
        bus_id: member.bus_id,
        nics: nics(process),
        evidence: vec![Evidence {
            kind: EvidenceKind::Log,
            witness: Some(member.first),
            count: member.lines,
        }],
        grade: Grade::Proven,
        ..Rank::new(member.rank)
    }
}

/// The transport of these networks; `IBext` plugins are NET/IB with extensions. AWS Libfabric and
/// similar plugins are neither NET/IB nor sockets.
fn transport(networks: &BTreeSet<String>) -> Transport {
    let is_ib = |name: &String| name.starts_with("IB");
    let has_ib = networks.iter().any(is_ib);
    let has_socket = networks.contains("Socket");
    if networks.iter().any(|name| !is_ib(name) && name != "Socket") {
        return Transport::Unknown;
    }
    match (has_ib, has_socket) {
        (true, true) => Transport::Mixed,
        (true, false) => Transport::Ib,
        (false, true) => Transport::Socket,
        (false, false) => Transport::Unknown,
    }
}

/// Ports of a process with one GPU; with several, the owner of a queue pair is unknown.
fn nics(process: &Process) -> Vec<Nic> {
    let gpus: BTreeSet<_> = process.memberships.iter().map(|member| member.bus_id).collect();
    if gpus.len() > 1 {
        return Vec::new();
    }
    let pairs = process.queue_pairs.iter().filter(|pair| pair.end == Some(EdgeEnd::Send));
    let ports =
        pairs.filter_map(|pair| Some(Nic { address: pair.address?, device: pair.device.clone() }));
    let ports: BTreeSet<Nic> = ports.collect();
    ports.into_iter().collect()
}
