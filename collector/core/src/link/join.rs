//! Joins logs with captures: a communicator of the logs and one of the wire are the same if their
//! hashes are, or if queue pairs named in a log carry the traffic.
//!
//! Captured facts stand; logs add to them. A contradiction is a conflict.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use foldhash::fast::FixedState;

use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{
    Communicator, CommunicatorId, Conflict, Identity, Job, LoggedCall, NetConnection, Rank,
    Transport,
};
use super::log::{LinkedLogs, LogFacts};
use super::only::only;
use crate::model::qpn::Qpn;

/// The job's communicator for each one of the logs.
pub type Places = BTreeMap<CommunicatorId, CommunicatorId>;

/// Joins the facts of `logs` to `job`.
pub fn join(job: &mut Job, logs: &LogFacts, linked: &LinkedLogs) -> Places {
    let by_traffic = by_traffic(job, logs, linked);
    let mut places = Places::new();
    for (at, logged) in (0..).map(CommunicatorId).zip(&linked.job.communicators) {
        let place = by_hash(job, logged).or_else(|| by_traffic.get(&at).copied());
        let parent = logged.parent.and_then(|parent| places.get(&parent).copied());
        let place = match place {
            Some(place) => {
                merge(job, place, logged);
                place
            }
            // Its parent has another number here.
            None => job.add_communicator(Communicator { parent: None, ..logged.clone() }),
        };
        if let Some(communicator) = job.communicator_mut(place) {
            communicator.parent = communicator.parent.or(parent);
        }
        places.insert(at, place);
    }
    number_inferred(job);
    add_connections(job, linked, &places);
    let call = |call: &LoggedCall| {
        let communicator = *places.get(&call.communicator)?;
        Some(LoggedCall { communicator, ..call.clone() })
    };
    job.calls = linked.job.calls.iter().filter_map(call).collect();
    places
}

/// Numbers communicators without an identity, from traffic and logs alike.
fn number_inferred(job: &mut Job) {
    let mut next = 0;
    for communicator in &mut job.communicators {
        if let Identity::Inferred(number) = &mut communicator.identity {
            *number = next;
            next += 1;
        }
    }
}

fn by_hash(job: &Job, logged: &Communicator) -> Option<CommunicatorId> {
    let is_same = |known: &Communicator| match logged.identity {
        Identity::CommHash(_) => known.identity == logged.identity,
        Identity::LogHash(hash) => known.log_hash == Some(hash),
        Identity::Magic(_) | Identity::Inferred(_) => false,
    };
    let place = job.communicators.iter().position(is_same)?;
    Some(CommunicatorId(place as u32))
}

/// Matches communicators of the logs with those of the wire that have no identity: a log names
/// queue pairs of a process, and the wire shows their traffic.
fn by_traffic(
    job: &Job,
    logs: &LogFacts,
    linked: &LinkedLogs,
) -> BTreeMap<CommunicatorId, CommunicatorId> {
    let mut senders: HashMap<(IpAddr, Qpn), (CommunicatorId, u32), FixedState> = HashMap::default();
    for connection in &job.connections {
        let is_inferred = job
            .communicators
            .get(connection.communicator.0 as usize)
            .is_some_and(|known| matches!(known.identity, Identity::Inferred(_)));
        for pair in connection.queue_pairs.iter().filter(|_| is_inferred) {
            if let Some((qpn, rank)) = pair.sender_qpn.zip(connection.sender) {
                senders.insert((pair.sender, qpn), (connection.communicator, rank));
            }
        }
    }
    let mut votes: BTreeMap<CommunicatorId, BTreeSet<CommunicatorId>> = BTreeMap::new();
    for (process, facts) in logs.processes.iter().enumerate() {
        for pair in &facts.queue_pairs {
            let Some(address) = pair.address else { continue };
            let Some((wire, rank)) = senders.get(&(address, pair.qpn)) else { continue };
            let members = facts.memberships.iter().enumerate();
            let of_rank = members.filter(|(_, member)| member.rank == *rank);
            let logged = of_rank.filter_map(|(at, _)| linked.memberships.get(&(process, at)));
            if let Some(logged) = only(logged) {
                votes.entry(*wire).or_default().insert(*logged);
            }
        }
    }
    let decided =
        votes.into_iter().filter_map(|(wire, logged)| Some((only(logged.into_iter())?, wire)));
    decided.collect()
}

/// Adds a log's facts to a captured communicator.
fn merge(job: &mut Job, place: CommunicatorId, logged: &Communicator) {
    let Job { communicators, conflicts, .. } = job;
    let Some(known) = communicators.get_mut(place.0 as usize) else { return };
    if matches!(known.identity, Identity::Inferred(_)) {
        known.identity = logged.identity;
        known.grade = known.grade.max(logged.grade);
    }
    known.nranks = known.nranks.or(logged.nranks);
    known.release = known.release.or(logged.release);
    if known.transport == Transport::Unknown {
        known.transport = logged.transport;
    }
    if known.channels.iter().all(|channel| channel.channel.is_none()) {
        known.channels.clone_from(&logged.channels);
    }
    for evidence in &logged.evidence {
        add_evidence(&mut known.evidence, *evidence);
    }
    for rank in &logged.ranks {
        match known.ranks.iter_mut().find(|known| known.rank == rank.rank) {
            Some(captured) => {
                compare(conflicts, place, captured, rank);
                add_rank(captured, rank);
            }
            None => known.ranks.push(rank.clone()),
        }
    }
    known.ranks.sort_by_key(|rank| rank.rank);
}

fn add_rank(captured: &mut Rank, logged: &Rank) {
    captured.host = captured.host.take().or_else(|| logged.host.clone());
    captured.address = captured.address.or(logged.address);
    captured.pid = captured.pid.or(logged.pid);
    captured.bus_id = captured.bus_id.or(logged.bus_id);
    captured.grade = captured.grade.max(logged.grade);
    for evidence in &logged.evidence {
        add_evidence(&mut captured.evidence, *evidence);
    }
}

/// Compares what a capture and a log say of the same rank.
fn compare(conflicts: &mut Vec<Conflict>, communicator: CommunicatorId, seen: &Rank, log: &Rank) {
    let mut check = |what: &'static str, captured: Option<String>, logged: Option<String>| {
        if let Some((captured, logged)) = captured.zip(logged).filter(|(one, other)| one != other) {
            conflicts.push(Conflict::Log { communicator, rank: seen.rank, what, captured, logged });
        }
    };
    let text = |number: Option<u32>| number.map(|number| number.to_string());
    check("process id", text(seen.pid), text(log.pid));
    let hex = |number: Option<u64>| number.map(|number| format!("{number:x}"));
    check("bus id of the GPU", hex(seen.bus_id), hex(log.bus_id));
    let address = |address: Option<IpAddr>| address.map(|address| address.to_string());
    check("address", address(seen.address), address(log.address));
}

/// Adds connections known from logs: receiver and channel, if unambiguous. Connections of
/// communicators without captured traffic come from logs alone.
fn add_connections(job: &mut Job, linked: &LinkedLogs, places: &Places) {
    let captured: BTreeSet<CommunicatorId> =
        job.connections.iter().map(|connection| connection.communicator).collect();
    let mut edges: BTreeMap<(CommunicatorId, Option<u32>), Vec<&NetConnection>> = BTreeMap::new();
    for edge in &linked.job.connections {
        let Some(place) = places.get(&edge.communicator).copied() else { continue };
        if captured.contains(&place) {
            edges.entry((place, edge.sender)).or_default().push(edge);
        } else {
            job.connections.push(NetConnection { communicator: place, ..edge.clone() });
        }
    }
    for connection in &mut job.connections {
        let Some(edges) = edges.get(&(connection.communicator, connection.sender)) else {
            continue;
        };
        let receivers: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.receiver).collect();
        let says = |connection: &mut NetConnection, edge: &NetConnection| {
            let witness = edge.evidence.first().and_then(|evidence| evidence.witness);
            let evidence = Evidence { kind: EvidenceKind::Log, witness, count: 1 };
            add_evidence(&mut connection.evidence, evidence);
        };
        if connection.receiver.is_none()
            && let Some(receiver) = only(receivers.into_iter())
        {
            connection.receiver = Some(receiver);
            edges.iter().for_each(|edge| says(connection, edge));
        }
        let between = edges.iter().filter(|edge| edge.receiver == connection.receiver);
        if connection.channel.is_none()
            && let Some(edge) = only(between)
        {
            connection.channel = edge.channel;
            says(connection, edge);
        }
    }
}
