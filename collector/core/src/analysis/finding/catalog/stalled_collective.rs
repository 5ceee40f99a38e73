//! A collective began and never ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::finding::claim::pace::{PaceClaim, Suspects};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, NetConnection, Unanswered};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Shortest silence that counts as a stall, in seconds: at the end of a capture, and live, where a pause may
/// still end.
const PATIENCE_S: f64 = 1.0;
const LIVE_PATIENCE_S: f64 = 5.0;
/// How many times longer than the job's longest earlier pause a stall is.
const LONGEST_RESTS: u64 = 5;

/// Stalled collectives.
pub const KIND: Kind = Kind {
    id: "stalled_collective",
    about: "Receivers requested data (clear-to-send) and got none until the capture ended: a rank \
            hangs or died, and all others wait for it. A rank that requests no data either never \
            called the collective or is gone; one that requests data and sends none is stuck in \
            it.",
    threshold: "Clear-to-sends without data, while the communicator was silent for at least 1 s, \
                live 5 s (findings.hang_after_s), and for 5 times its longest earlier silence (our \
                choice; NCCL's watchdog in PyTorch waits 10 minutes).",
    remedy: "Look at that rank's process first: is it alive? `py-spy dump`, dmesg (OOM killer, \
             Xid), its NCCL log. TORCH_NCCL_ENABLE_MONITORING and the flight recorder show which \
             collective each rank is in.",
    needs: &[Need::Ranks],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    // Data that railscope dropped because tables were full is not missing on the wire.
    let Some(job) = facts.job().filter(|_| !facts.state.is_cut_short()) else { return Vec::new() };
    let mut waiting: BTreeMap<CommunicatorId, Vec<Waiting<'_>>> = BTreeMap::new();
    for connection in &job.connections {
        if let Some(unanswered) = connection.unanswered {
            let edge = Waiting { connection, unanswered };
            waiting.entry(connection.communicator).or_default().push(edge);
        }
    }
    waiting.into_iter().filter_map(|(id, edges)| finding(facts, id, &edges)).collect()
}

/// A connection whose receiver waits for data.
struct Waiting<'a> {
    connection: &'a NetConnection,
    unanswered: Unanswered,
}

fn finding(facts: &Facts<'_>, id: CommunicatorId, edges: &[Waiting<'_>]) -> Option<Finding> {
    let connections = || {
        let all = facts.job().into_iter().flat_map(|job| &job.connections);
        all.filter(move |one| one.communicator == id)
    };
    let moved = connections().filter_map(|one| one.transfers.last()?.last_time()).max();
    let asked = edges.iter().map(|edge| edge.unanswered.time).max()?;
    let since = moved.unwrap_or(asked).max(asked);
    let end = last_seen(facts, id)?;
    let silence_ns = end.nanos_since(since);
    if silence_ns < patience_ns(facts).max(longest_rest(facts, id).saturating_mul(LONGEST_RESTS)) {
        return None;
    }
    let suspects = suspects(connections(), edges);
    let waiters: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.receiver).collect();
    let (cause, ranks) = match &suspects {
        Suspects::NeverPosted(ranks) => ("never_posted", ranks.as_slice()),
        Suspects::NeverSent(ranks) => ("never_sent", ranks.as_slice()),
        Suspects::Unknown => ("unknown", [].as_slice()),
    };
    let rank = ranks.first().copied().filter(|_| ranks.len() == 1);
    let communicator = facts.identity_of(id);
    let claim = PaceClaim::Stalled { communicator, suspects, silence_ns };
    let finding = KIND
        .finding(Severity::Critical, claim)
        .caused_by(cause)
        .about(Subject { communicator: Some(id), rank, ..Subject::default() })
        .over(Some(Span { first: since, last: end }));
    let count: u64 = edges.iter().map(|edge| edge.unanswered.count).sum();
    let first = edges.iter().min_by_key(|edge| edge.unanswered.time)?;
    let unanswered = FrameObservation::Unanswered {
        clear_to_sends: count,
        ranks: waiters.into_iter().collect(),
    };
    Some(finding.because(Proof::frames(unanswered, Some(first.unanswered.witness))))
}

fn patience_ns(facts: &Facts<'_>) -> u64 {
    let is_live = facts.state.tracker.taps().iter().any(|tap| tap.is_live);
    let default = if is_live { LIVE_PATIENCE_S } else { PATIENCE_S };
    (facts.settings.findings.hang_after_s.unwrap_or(default) * 1e9) as u64
}

/// The ranks that hold up the others: waited for and not waiting; if all wait, those that sent
/// least.
fn suspects<'a>(
    connections: impl Iterator<Item = &'a NetConnection> + Clone,
    edges: &[Waiting<'_>],
) -> Suspects {
    let awaited: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.sender).collect();
    let waiting: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.receiver).collect();
    let receives = |rank: &u32| connections.clone().any(|one| one.receiver == Some(*rank));
    let idle: Vec<u32> =
        awaited.difference(&waiting).copied().filter(|rank| receives(rank)).collect();
    if !idle.is_empty() {
        return Suspects::NeverPosted(idle);
    }
    let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
    // Only a rank that was asked can have failed to send.
    for Waiting { connection, .. } in edges {
        let Some(sender) = connection.sender else { continue };
        let last = connection.transfers.last().map_or(0, |transfer| transfer.number);
        let known = sent.entry(sender).or_insert(last);
        *known = last.min(*known);
    }
    let (least, most) = (sent.values().min().copied(), sent.values().max().copied());
    match least.zip(most) {
        Some((least, most)) if least < most => {
            let ranks = sent.iter().filter(|(_, sent)| **sent == least).map(|(rank, _)| *rank);
            Suspects::NeverSent(ranks.collect())
        }
        _ => Suspects::Unknown,
    }
}

/// When the last tap that saw the communicator ended: other taps may have captured longer.
fn last_seen(facts: &Facts<'_>, id: CommunicatorId) -> Option<Timestamp> {
    let is_own = |flow: &&QueuePair| flow.owner.is_some_and(|owner| owner.communicator == id);
    let views = facts.flows.iter().filter(is_own).flat_map(|flow| &flow.views);
    let taps: BTreeSet<TapId> =
        views.filter_map(|at| Some(facts.table().get(*at as usize)?.key.tap)).collect();
    let span = |tap: TapId| Some(facts.aligned_span(tap, facts.state.tracker.tap(tap)?.span?));
    taps.into_iter().filter_map(span).map(|span| span.last).max()
}

/// The longest time between two collectives of the communicator.
fn longest_rest(facts: &Facts<'_>, id: CommunicatorId) -> u64 {
    let mut ended: Option<Timestamp> = None;
    let mut longest = 0;
    let collectives = facts.collectives.iter().map(|judged| &judged.collective);
    for collective in collectives.filter(|one| one.communicator == id) {
        if let Some(ended) = ended {
            longest = longest.max(collective.span.first.nanos_since(ended));
        }
        ended = ended.max(Some(collective.span.last));
    }
    longest
}
