//! A TCP connection of NET/Socket over which data no longer moves.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::hang::{last_seen, longest_rest, patience_ns};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, NetConnection, SocketPair};
use crate::model::time::{Span, Timestamp};

/// Data that is sent again and again, and windows that stay closed.
pub const KIND: Kind = Kind {
    id: "socket_stalled",
    about: "NCCL's data goes over TCP, and a connection stands still: what is sent is not \
            acknowledged, or the receiver takes no more (window 0). The others of the ring then \
            stop within a few messages. TCP of a peer that is silent goes on for minutes before \
            it gives up.",
    threshold: "Until the capture ends, for at least 1 s, live 5 s (findings.hang_after_s): two \
                retransmissions after timeouts without an acknowledgement; or a window of 0 for 5 \
                times the communicator's longest earlier silence. Of several connections, the one \
                that lost its answers first, else the one that closed first.",
    remedy: "`ss -tieno` on both hosts for this connection. Retransmissions without an answer: the \
             host, its port or the path is dead, or a firewall drops it. Window 0: the receiving \
             process takes nothing: is it stopped (`ps -o stat=`), or in another call (`py-spy dump`)?",
    needs: &[Need::Ranks],
    detect,
};

/// Timeouts without an acknowledgement: one may be the loss of one packet.
const TRIES: u64 = 2;

/// Times the longest rest of the communicator before.
const LONGEST_RESTS: u64 = 5;

/// A connection that stands still: since when, and after how many timeouts.
struct Stall<'a> {
    connection: &'a NetConnection,
    pair: &'a SocketPair,
    since: Timestamp,
    tries: u64,
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job().filter(|_| !facts.state.is_cut_short()) else { return Vec::new() };
    let mut stalls: BTreeMap<CommunicatorId, Vec<Stall<'_>>> = BTreeMap::new();
    for connection in &job.connections {
        let Some(pair) = &connection.socket else { continue };
        let lost = pair.unanswered.filter(|one| one.tries >= TRIES);
        let stall = match (lost, pair.closed_since) {
            (Some(lost), _) => (lost.since, lost.tries),
            (None, Some(since)) => (since, 0),
            (None, None) => continue,
        };
        let stall = Stall { connection, pair, since: stall.0, tries: stall.1 };
        stalls.entry(connection.communicator).or_default().push(stall);
    }
    stalls.into_iter().filter_map(|(id, stalls)| finding(facts, id, &stalls)).collect()
}

fn finding(facts: &Facts<'_>, id: CommunicatorId, stalls: &[Stall<'_>]) -> Option<Finding> {
    // Where answers are missing, closed windows follow.
    let stall = stalls.iter().min_by_key(|one| (one.tries == 0, one.since))?;
    let end = last_seen(facts.state, facts.flows, id)?;
    let silence_ns = end.nanos_since(stall.since);
    let patience_ns = patience_ns(facts.state, facts.settings);
    let rest = longest_rest(facts.collectives, id).saturating_mul(LONGEST_RESTS);
    let least = if stall.tries > 0 { patience_ns } else { patience_ns.max(rest) };
    if silence_ns < least {
        return None;
    }
    let NetConnection { sender, receiver, ref transfers, .. } = *stall.connection;
    let claim = PaceClaim::SocketStalled {
        communicator: facts.identity_of(id),
        sender: (stall.pair.sender.ip(), sender),
        receiver: (stall.pair.receiver.ip(), receiver),
        tries: stall.tries,
        silence_ns,
    };
    let subject = Subject {
        communicator: Some(id),
        rank: receiver,
        port: Some(stall.pair.receiver.ip()),
        ..Subject::default()
    };
    let shown = FrameObservation::SocketStalled {
        sender: stall.pair.sender,
        receiver: stall.pair.receiver,
        others: stalls.len() as u64 - 1,
    };
    let finding = KIND
        .finding(Severity::Critical, claim)
        .caused_by(if stall.tries > 0 { "unanswered" } else { "window_closed" })
        .about(subject)
        .over(Some(Span { first: stall.since, last: end }));
    let latest = transfers.last().map(|transfer| transfer.witness);
    Some(finding.because(Proof::frames(shown, latest)))
}
