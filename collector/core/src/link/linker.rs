//! The linker: control plane and data plane in, job out.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::connect::{self, Draft, Traffic};
use super::control::facts::ControlFacts;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{
    Bootstrap, Communicator, CommunicatorId, Conflict, Job, NetConnection, NetConnectionId, Nic,
    Ownership, Reason, Role, Transport,
};
use super::net_bootstrap::{self, RingListeners};
use super::only::only;
use super::rings::Edge;
use super::roster::{Listener, Roster};
use super::roster_entry::RosterEntry;
use super::sockets::{SocketDraft, SocketDrafts};
use super::traffic::record::FlowTraffic;
use super::unannounced::{self, Homeless, Numbered};
use crate::flow::key::FlowKey;
use crate::flow::state::Flow;
use crate::flow::table::FlowTable;
use crate::model::grade::Grade;
use crate::model::nccl::Graph;
use crate::model::opcode::Transport as WireTransport;
use crate::model::witness::Witness;

/// Links everything captured.
#[must_use]
pub fn link(facts: &ControlFacts, traffic: Traffic<'_>, records: Vec<Arc<FlowTraffic>>) -> Job {
    let roster = Roster::new(facts);
    let carried = carried(&records);
    let drafts = connect::drafts(facts, traffic, records);
    let owners = owners(&drafts, traffic.table, &carried);
    let dropped_communicators = roster.dropped_magics;
    let mut job = Job { owners, dropped_communicators, ..Job::default() };
    let places = communicators(&mut job, &roster, facts);
    let drafts_end = drafts.len() as u32;
    let (mut rings, drafts) = bootstrap_rings(&mut job, facts, &roster, &places, drafts);
    let channels = ChannelNames::new(&job, &roster, &places);
    let (mut connections, homeless) = announced(&mut job, (&roster, &places, &channels), drafts);
    connections.append(&mut rings);
    let SocketDrafts { drafts, unread } = SocketDrafts::new(&facts.sockets, traffic.positions);
    job.unread_sockets = unread;
    let numbered = (drafts_end..).map(NetConnectionId).zip(drafts);
    for (id, draft) in numbered {
        let stalled = draft.pair.stall.map(|_| draft.pair.clone());
        match over_socket((&roster, &places, &channels), draft) {
            Some(connection) => connections.push((id, connection)),
            None => {
                job.unread_sockets += 1;
                job.stalled_strangers.extend(stalled);
            }
        }
    }
    let homeless = without_rings(&mut job, homeless);
    connections.extend(unannounced::place(&mut job, homeless));
    add_connections(&mut job, connections);
    describe_ranks(&mut job);
    find_conflicts(&mut job);
    job
}

/// The job's communicators, by index in the roster.
pub(super) type Places = BTreeMap<usize, CommunicatorId>;

/// A draft with its number.
type NumberedDraft = (NetConnectionId, Draft);

/// Adds the roster's communicators to the job, oldest first.
fn communicators(job: &mut Job, roster: &Roster, facts: &ControlFacts) -> Places {
    let mut order: Vec<(usize, &RosterEntry)> = roster.entries.iter().enumerate().collect();
    let began = |entry: &RosterEntry| entry.bootstrap.map(|span| span.first);
    order.sort_by_key(|(at, entry)| (began(entry).is_none(), began(entry), *at));
    let seen = seen_edges(roster);
    let mut places = Places::new();
    for (at, entry) in &order {
        let mut communicator = entry.communicator.clone();
        communicator.ranks = entry.ranks.values().cloned().collect();
        let none = BTreeMap::new();
        communicator.channels = entry.topology.channels(seen.get(at).unwrap_or(&none));
        let last_rank = entry.last_check_in.map(|(_, rank)| rank);
        communicator.bootstrap = entry.bootstrap.map(|span| Bootstrap { span, last_rank });
        let place = job.add_communicator(communicator);
        places.insert(*at, place);
        job.magics.insert(entry.magic, place);
    }
    for (at, entry) in order {
        let place = places.get(&at).copied();
        let parent = entry.parent.and_then(|parent| places.get(&parent).copied());
        if let Some(communicator) = place.and_then(|place| job.communicator_mut(place)) {
            communicator.parent = parent;
        }
    }
    let place = |at: usize| places.get(&at).copied();
    let roots = roster.other_roots().filter_map(|(magic, at)| Some((magic, place(at)?)));
    job.magics.extend(roots);
    let listeners = roster.listeners.iter();
    let latest = listeners
        .filter_map(|(address, listeners)| Some((*address, place(listeners.last()?.entry)?)));
    job.listeners.extend(latest);
    for socket in &facts.sockets {
        let listener = roster.listener(socket.listener, socket.span.last);
        let place = listener.and_then(|listener| place(listener.entry));
        if let Some(communicator) = place.and_then(|place| job.communicator_mut(place)) {
            uses(communicator, Transport::Socket);
        }
    }
    places
}

fn uses(communicator: &mut Communicator, transport: Transport) {
    communicator.transport = match communicator.transport {
        Transport::Unknown => transport,
        known if known == transport => known,
        _ => Transport::Mixed,
    };
}

/// By communicator: number of connections set up for each edge.
fn seen_edges(roster: &Roster) -> BTreeMap<usize, BTreeMap<(Graph, Edge), u32>> {
    let mut seen: BTreeMap<usize, BTreeMap<(Graph, Edge), u32>> = BTreeMap::new();
    for listener in roster.listeners.values().flatten() {
        let Some(sender) = listener.sender else { continue };
        let edge = Edge { sender, receiver: listener.receiver };
        *seen.entry(listener.entry).or_default().entry((listener.graph, edge)).or_default() += 1;
    }
    seen
}

/// The connections of bootstraps that run over NET/IB, and the other drafts. A later set-up message
/// means that the port was reused for data.
fn bootstrap_rings(
    job: &mut Job,
    facts: &ControlFacts,
    roster: &Roster,
    places: &Places,
    drafts: Vec<Draft>,
) -> (Vec<Numbered>, Vec<NumberedDraft>) {
    let listeners = RingListeners::new(facts);
    let mut rings = Vec::new();
    let mut others = Vec::new();
    for (id, draft) in (0..).map(NetConnectionId).zip(drafts) {
        let is_set_up =
            draft.exchange.is_some_and(|(_, listener)| roster.listeners.contains_key(&listener));
        let ring = listeners.ring(roster, places, &draft).filter(|_| !is_set_up);
        let Some(ring) = ring else {
            others.push((id, draft));
            continue;
        };
        let ring = ring.connection(draft);
        if let Some(communicator) = job.communicator_mut(ring.communicator) {
            net_bootstrap::extend(communicator, &ring);
            for pair in &ring.queue_pairs {
                add_nic(communicator, ring.sender, pair.sender, &None);
                add_nic(communicator, ring.receiver, pair.receiver, &None);
            }
        }
        rings.push((id, ring));
    }
    (rings, others)
}

/// Leaves out connections that carry a bootstrap's gathers: their tags are no ranks, and nothing else
/// names their communicator.
fn without_rings(job: &mut Job, homeless: Vec<Homeless>) -> Vec<Homeless> {
    let is_ring = |(_, draft): &Homeless| net_bootstrap::is_ring(&draft.traffic.transfers);
    let (rings, others): (Vec<_>, Vec<_>) = homeless.into_iter().partition(is_ring);
    for flow in rings.iter().flat_map(|(_, draft)| &draft.flows) {
        if let Some(owner) = job.owners.get_mut(flow.at as usize) {
            *owner = Ownership::Nobody(Reason::Bootstrap);
        }
    }
    others
}

/// Turns drafts into connections if the control plane reveals their communicator; the others come
/// second.
fn announced(
    job: &mut Job,
    (roster, places, channels): (&Roster, &Places, &ChannelNames),
    drafts: Vec<NumberedDraft>,
) -> (Vec<Numbered>, Vec<Homeless>) {
    let mut connections = Vec::new();
    let mut homeless = Vec::new();
    for (id, mut draft) in drafts {
        let exchange = draft.exchange;
        let known =
            exchange.and_then(|(_, listener)| roster.listener(listener, draft.exchanged_at));
        let is_ring = || net_bootstrap::is_ring(&draft.traffic.transfers);
        let witness = draft.evidence.first().and_then(|one| one.witness);
        let by_address = || only_ranks(roster, exchange?, witness?).filter(|_| !is_ring());
        let listener = known.copied().or_else(by_address);
        let home = listener.and_then(|listener| Some((listener, *places.get(&listener.entry)?)));
        let Some((listener, place)) = home else {
            homeless.push((id, draft));
            continue;
        };
        let releases = draft.releases;
        let [sender_device, receiver_device] = std::mem::take(&mut draft.devices);
        let mut connection = draft.into_connection(place);
        connection.sender = listener.sender.or_else(|| {
            let (connector, _) = exchange?;
            only(roster.ranks_at(listener.entry, connector.ip()))
        });
        connection.receiver = Some(listener.receiver);
        if known.is_some() {
            connection.graph = Some(listener.graph);
            connection.channel = channels.channel(&listener);
            let kind = EvidenceKind::TransportSetup;
            let witness = Some(listener.witness);
            add_evidence(&mut connection.evidence, Evidence { kind, witness, count: 1 });
        }
        // Without a set-up message, another communicator of the same hosts is possible.
        let is_proven = known.is_some() && connection.sender.is_some();
        connection.grade = if is_proven { Grade::Proven } else { Grade::Inferred };
        if let Some(communicator) = job.communicator_mut(place) {
            communicator.releases = match (communicator.releases, releases) {
                (Some(known), Some(seen)) => Some(known.intersect(seen).unwrap_or(known)),
                (known, seen) => known.or(seen),
            };
            uses(communicator, Transport::Ib);
            for pair in &connection.queue_pairs {
                add_nic(communicator, connection.sender, pair.sender, &sender_device);
                add_nic(communicator, connection.receiver, pair.receiver, &receiver_device);
            }
        }
        connections.push((id, connection));
    }
    (connections, homeless)
}

/// The connection of NET/Socket; `None` if its communicator is unknown.
fn over_socket(
    (roster, places, channels): (&Roster, &Places, &ChannelNames),
    draft: SocketDraft,
) -> Option<NetConnection> {
    let SocketDraft { pair, transfers, span, witness } = draft;
    let ends = (pair.sender, pair.receiver);
    let known = roster.listener(pair.receiver, span.last).copied();
    let listener = known.or_else(|| only_ranks(roster, ends, witness))?;
    let at_sender = || only(roster.ranks_at(listener.entry, pair.sender.ip()));
    let sender = listener.sender.or_else(at_sender);
    let kind = EvidenceKind::TransportSetup;
    let evidence = known.map(|known| Evidence { kind, witness: Some(known.witness), count: 1 });
    let is_proven = known.is_some() && sender.is_some();
    Some(NetConnection {
        communicator: *places.get(&listener.entry)?,
        sender,
        receiver: Some(listener.receiver),
        channel: known.and_then(|known| channels.channel(&known)),
        graph: known.map(|known| known.graph),
        queue_pairs: Vec::new(),
        exchange: None,
        socket: Some(pair),
        first_cts: None,
        matched: 0,
        unmatched: 0,
        transfers,
        unanswered: None,
        evidence: evidence.into_iter().collect(),
        grade: if is_proven { Grade::Proven } else { Grade::Inferred },
    })
}

/// Without a captured set-up message: the ranks at both ends of a TCP connection that the data's sender
/// opened, if only one communicator has one rank at each.
fn only_ranks(
    roster: &Roster,
    (connector, listener): (SocketAddr, SocketAddr),
    witness: Witness,
) -> Option<Listener> {
    let found = (0..roster.entries.len()).filter_map(|entry| {
        let sender = only(roster.ranks_at(entry, connector.ip()))?;
        let receiver = only(roster.ranks_at(entry, listener.ip()))?;
        let graph = Graph::Ring;
        Some(Listener { entry, sender: Some(sender), receiver, graph, position: 0, witness })
    });
    only(found)
}

pub(super) fn add_nic(
    communicator: &mut Communicator,
    rank: Option<u32>,
    address: IpAddr,
    device: &Option<String>,
) {
    let mut ranks = communicator.ranks.iter_mut();
    let Some(rank) = ranks.find(|known| Some(known.rank) == rank) else { return };
    match rank.nics.iter_mut().find(|nic| nic.address == address) {
        Some(nic) => nic.device = nic.device.take().or_else(|| device.clone()),
        None => rank.nics.push(Nic { address, device: device.clone() }),
    }
}

/// The channel of the k-th connection between two ranks.
struct ChannelNames {
    by_edge: HashMap<(usize, Graph, Edge), Vec<u32>, FixedState>,
}

impl ChannelNames {
    fn new(job: &Job, roster: &Roster, places: &Places) -> Self {
        let mut by_edge: HashMap<_, Vec<u32>, FixedState> = HashMap::default();
        let seen = seen_edges(roster);
        for (entry, edges) in &seen {
            let place = places.get(entry);
            let Some(communicator) = place.and_then(|place| job.communicator(*place)) else {
                continue;
            };
            let on_ring = |edge: &Edge| -> Vec<u32> {
                let channels = communicator.channels.iter();
                let has = |ring: &[u32]| {
                    let next = ring.iter().cycle().skip(1);
                    ring.iter().zip(next).any(|(a, b)| (*a, *b) == (edge.sender, edge.receiver))
                };
                channels
                    .filter(|known| has(&known.ring))
                    .filter_map(|known| known.channel)
                    .collect()
            };
            for ((graph, edge), count) in edges {
                let ring = on_ring(edge);
                let candidates = match graph {
                    Graph::Ring => ring,
                    Graph::Tree => {
                        // What the ring has connected is not connected again.
                        let is_reused = edges.contains_key(&(Graph::Ring, *edge));
                        let tree = on_tree(communicator, edge);
                        let left =
                            tree.iter().filter(|channel| !is_reused || !ring.contains(channel));
                        left.copied().collect()
                    }
                    _ => (0..communicator.channels.len() as u32).collect(),
                };
                if candidates.len() == *count as usize {
                    by_edge.insert((*entry, *graph, *edge), candidates);
                }
            }
        }
        Self { by_edge }
    }

    fn channel(&self, listener: &Listener) -> Option<u32> {
        let edge = Edge { sender: listener.sender?, receiver: listener.receiver };
        let channels = self.by_edge.get(&(listener.entry, listener.graph, edge))?;
        channels.get(listener.position as usize).copied()
    }
}

/// Channels on whose tree the two ranks are neighbours.
fn on_tree(communicator: &Communicator, edge: &Edge) -> Vec<u32> {
    let is_neighbour = |tree: &[super::job::TreeNode]| {
        tree.iter().any(|node| {
            node.rank == edge.sender
                && (node.up == Some(edge.receiver) || node.down.contains(&edge.receiver))
        })
    };
    let channels = communicator.channels.iter();
    channels
        .filter(|known| known.tree.as_deref().is_some_and(is_neighbour))
        .filter_map(|known| known.channel)
        .collect()
}

/// Adds the connections in the order of communicator, channel, sender, receiver, and updates
/// references to them.
fn add_connections(job: &mut Job, mut connections: Vec<Numbered>) {
    connections.sort_by_cached_key(|(id, connection)| {
        let ranks = (connection.sender, connection.receiver);
        let queue_pairs = connection.queue_pairs.clone();
        (connection.communicator, connection.channel, ranks, queue_pairs, *id)
    });
    let numbers: BTreeMap<NetConnectionId, NetConnectionId> =
        connections.iter().map(|(id, _)| *id).zip((0..).map(NetConnectionId)).collect();
    for owner in &mut job.owners {
        if let Ownership::Connection { connection, .. } = owner
            && let Some(number) = numbers.get(connection)
        {
            *connection = *number;
        }
    }
    job.connections = connections.into_iter().map(|(_, connection)| connection).collect();
}

/// Ports in order, ranks by number.
fn describe_ranks(job: &mut Job) {
    for communicator in &mut job.communicators {
        communicator.ranks.sort_by_key(|rank| rank.rank);
        for rank in &mut communicator.ranks {
            rank.nics.sort();
            rank.top_rank = rank.top_rank.or(Some(rank.rank));
        }
    }
}

/// Compares the ranks in CTS tags with the control plane's.
fn find_conflicts(job: &mut Job) {
    let mut conflicts = Vec::new();
    for (id, connection) in (0..).map(NetConnectionId).zip(&mut job.connections) {
        let communicator = job.communicators.get(connection.communicator.0 as usize);
        let Some((communicator, sender)) = communicator.zip(connection.sender) else { continue };
        let ranks = communicator.ranks.iter();
        let expected = ranks.filter(|rank| rank.rank == sender).find_map(|rank| rank.top_rank);
        // Children that share their parent's resources use their parent's ranks.
        let expected = expected.unwrap_or(sender);
        let tags = connection.transfers.iter().filter_map(|transfer| transfer.cts?.tag);
        let mut wrong: BTreeMap<u32, u64> = BTreeMap::new();
        let mut agreeing = 0;
        for tag in tags {
            if tag == expected || tag == sender {
                agreeing += 1;
            } else {
                *wrong.entry(tag).or_default() += 1;
            }
        }
        if agreeing > 0 {
            let witness = connection.first_cts;
            let kind = EvidenceKind::CtsTag;
            add_evidence(&mut connection.evidence, Evidence { kind, witness, count: agreeing });
        }
        for (tag, count) in wrong {
            conflicts.push(Conflict::Tag { connection: id, expected, tag, count });
        }
    }
    job.conflicts = conflicts;
}

/// What each flow that carries messages of NCCL carries: clear-to-sends, data.
type Carried = HashMap<(FlowKey, u32), (bool, bool), FixedState>;

fn carried(records: &[Arc<FlowTraffic>]) -> Carried {
    let of = |records: &FlowTraffic| (!records.cts.is_empty(), !records.data.is_empty());
    records.iter().map(|records| ((records.key, records.epoch), of(records))).collect()
}

/// The owner of each flow, by index in the flow table.
fn owners(drafts: &[Draft], table: &FlowTable, carried: &Carried) -> Vec<Ownership> {
    let reason = |flow: &Flow| match (flow.transport, carried.get(&(flow.key, flow.epoch))) {
        (WireTransport::Ud | WireTransport::Rd, _) => Reason::Datagrams,
        (_, Some((true, _))) => Reason::NoData,
        (_, Some((false, true))) => Reason::NoClearToSend,
        (_, Some((false, false)) | None) => Reason::NotNccl,
    };
    let mut owners: Vec<Ownership> =
        table.flows().iter().map(|flow| Ownership::Nobody(reason(flow))).collect();
    for (connection, draft) in (0..).map(NetConnectionId).zip(drafts) {
        for flow in &draft.flows {
            let role: Role = flow.role;
            owners[flow.at as usize] = Ownership::Connection { connection, role };
        }
    }
    owners
}
