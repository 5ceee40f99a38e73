//! A TCP connection of NET/Socket over which data no longer moves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::hang::{LONGEST_RESTS, longest_rest, patience_ns};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, Job, NetConnection, SocketPair, SocketStall};
use crate::model::time::Span;

/// Data that is sent again and again, and windows that stay closed.
pub const KIND: Kind = Kind {
    id: "socket_stalled",
    about: "NCCL's data goes over TCP, and a connection stands still: what is sent is not \
            acknowledged, or the receiver takes no more (window 0). The others of the ring then \
            stop within a few messages. TCP of a peer that is silent goes on for minutes before \
            it gives up.",
    threshold: "Until the connection or the capture ends, for at least 1 s, live 5 s \
                (findings.hang_after_s): two retransmissions after timeouts without any answer; or \
                a window of 0 for 5 times the communicator's longest earlier silence, or, if its \
                messages are not read, the connection's. Of several \
                connections, one to the port that most without an answer have in common, else the \
                one whose receiver can send itself. Nothing if the communicator goes on. Of connections \
                whose ranks are not known, only retransmissions count.",
    remedy: "`ss -tieno` on both hosts for this connection. Retransmissions without an answer: the \
             host, its port or the path is dead, or a firewall drops it. Window 0: the receiving \
             process takes nothing: is it stopped (`ps -o stat=`), or in another call (`py-spy dump`)?",
    needs: &[Need::ControlPlane],
    detect,
};

/// Timeouts without an acknowledgement: one may be the loss of one packet.
const TRIES: u64 = 2;

/// A connection that stands still.
struct Stalled<'a> {
    /// `None` if its ranks are not known.
    connection: Option<&'a NetConnection>,
    pair: &'a SocketPair,
    stall: SocketStall,
    silence_ns: u64,
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job().filter(|_| !facts.state.is_cut_short()) else { return Vec::new() };
    let mut by_communicator: BTreeMap<Option<CommunicatorId>, Vec<Stalled<'_>>> = BTreeMap::new();
    for connection in &job.connections {
        let Some(pair) = &connection.socket else { continue };
        if let Some(stalled) = stalled(facts, Some(connection), pair) {
            by_communicator.entry(Some(connection.communicator)).or_default().push(stalled);
        }
    }
    let strangers = job.stalled_strangers.iter().filter_map(|pair| stalled(facts, None, pair));
    let strangers: Vec<Stalled<'_>> = strangers.collect();
    if !strangers.is_empty() {
        by_communicator.insert(None, strangers);
    }
    by_communicator.into_iter().filter_map(|(id, all)| finding(facts, job, id, &all)).collect()
}

/// A connection that stood still for long enough, until it was closed or its tap ended.
fn stalled<'a>(
    facts: &Facts<'_>,
    connection: Option<&'a NetConnection>,
    pair: &'a SocketPair,
) -> Option<Stalled<'a>> {
    let stall = pair.stall?;
    let end = || facts.state.last_frame(pair.tap?);
    let silence_ns = stall.until.or_else(end)?.nanos_since(stall.since);
    let patience_ns = patience_ns(facts.state, facts.settings);
    let least = match stall.tries {
        0 => {
            // How long a job of unknown ranks rests is not known either.
            let rest = longest_rest(facts.collectives, connection?.communicator);
            // Without messages there are no collectives, but the connection rests with the job.
            let own = pair.advance.filter(|_| pair.is_lost).map_or(0, |own| own.longest_rest_ns);
            patience_ns.max(rest.max(own).saturating_mul(LONGEST_RESTS))
        }
        TRIES.. => patience_ns,
        _ => return None,
    };
    (silence_ns >= least).then_some(Stalled { connection, pair, stall, silence_ns })
}

/// The port that most connections without an answer have in common, if it is one.
fn common_end(all: &[Stalled<'_>]) -> Option<IpAddr> {
    let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for stalled in all.iter().filter(|one| one.stall.tries > 0) {
        for end in BTreeSet::from([stalled.pair.sender.ip(), stalled.pair.receiver.ip()]) {
            *counts.entry(end).or_default() += 1;
        }
    }
    let most = counts.values().copied().max()?;
    let mut ends = counts.into_iter().filter(|(_, count)| *count == most).map(|(end, _)| end);
    ends.next().filter(|_| ends.next().is_none())
}

fn finding(
    facts: &Facts<'_>,
    job: &Job,
    id: Option<CommunicatorId>,
    all: &[Stalled<'_>],
) -> Option<Finding> {
    let own = || job.connections.iter().filter(|one| Some(one.communicator) == id);
    let is_stalled = |one: &NetConnection| {
        all.iter().any(|known| known.connection.is_some_and(|known| std::ptr::eq(known, one)))
    };
    // A rank that cannot send takes nothing after a while: it is not the cause.
    let is_cause = |stalled: &&Stalled<'_>| {
        let receiver = stalled.connection.and_then(|one| one.receiver);
        let mut sends = own().filter(|one| one.sender == receiver && receiver.is_some()).peekable();
        stalled.stall.tries > 0 || sends.peek().is_some() && !sends.any(is_stalled)
    };
    // Where answers are missing, closed windows follow. A dead port gives and gets none.
    let dead = common_end(all);
    let order = |one: &&Stalled<'_>| {
        let is_elsewhere = dead.is_some_and(|port| one.pair.receiver.ip() != port);
        (one.stall.tries == 0, is_elsewhere, one.stall.since)
    };
    let cause = all.iter().filter(is_cause).min_by_key(order);
    let shown = cause.or_else(|| all.iter().min_by_key(order))?;
    let SocketStall { since, tries, .. } = shown.stall;
    // The job goes on without it.
    let moved = own().filter_map(|one| Some(one.socket.as_ref()?.advance?.latest)).max();
    let patience_ns = patience_ns(facts.state, facts.settings);
    if moved.is_some_and(|moved| moved.nanos_since(since) > patience_ns) {
        return None;
    }
    let (sender, receiver) =
        shown.connection.map_or((None, None), |one| (one.sender, one.receiver));
    let claim = PaceClaim::SocketStalled {
        communicator: id.and_then(|id| facts.identity_of(id)),
        sender: (shown.pair.sender.ip(), sender),
        receiver: (shown.pair.receiver.ip(), receiver),
        tries,
        silence_ns: shown.silence_ns,
    };
    let ends = [(shown.pair.receiver.ip(), receiver), (shown.pair.sender.ip(), sender)];
    // One pair of ports without an answer: it may be either, or the path.
    let sick = match (tries, dead) {
        (0, _) => cause.map(|_| ends[0]),
        (_, Some(port)) => ends.into_iter().find(|(end, _)| *end == port),
        (_, None) => None,
    };
    let (port, rank) = sick.unzip();
    let subject = Subject { communicator: id, rank: rank.flatten(), port, ..Subject::default() };
    let observation = FrameObservation::SocketStalled {
        sender: shown.pair.sender,
        receiver: shown.pair.receiver,
        others: all.len() as u64 - 1,
    };
    let last = since.plus_nanos(shown.silence_ns);
    let finding = KIND
        .finding(Severity::Critical, claim)
        .caused_by(if tries > 0 { "unanswered" } else { "window_closed" })
        .about(subject)
        .over(Some(Span { first: since, last }));
    let latest = shown.connection.and_then(|one| Some(one.transfers.last()?.witness));
    Some(finding.because(Proof::frames(observation, latest)))
}
