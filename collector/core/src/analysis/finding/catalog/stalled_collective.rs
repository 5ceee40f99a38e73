//! A collective began and never ended.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::collective::Collective;
use crate::analysis::exit::{Addresses, Exit, are_ends_known, ends, exit};
use crate::analysis::finding::claim::pace::{PaceClaim, Suspects};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::hang::{
    LONGEST_RESTS, is_cut_short, last_seen, latest, longest_rest, patience_ns,
};
use crate::analysis::path::passage::never_arrived;
use crate::analysis::path::tally::cut_short_at_source;
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, Job, NetConnection, Unanswered};
use crate::link::position::Position;
use crate::link::rank_ports::RankPorts;
use crate::model::nccl::{Algorithm, CollectiveKind};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Stalled collectives.
pub const KIND: Kind = Kind {
    id: "stalled_collective",
    about: "Receivers requested data (clear-to-send) and got none until the capture ended: a rank \
            hangs or died, and all others wait for it. A rank that requests no data either never \
            called the collective or is gone; one that requests data and sends none is stuck in \
            it. Or packets left a rank and never arrived.",
    threshold: "Clear-to-sends without data (over TCP: fewer messages than others of the ring sent), or \
                packets without an ACK that the receiver's tap never saw, \
                while the communicator was silent for at least 1 s, \
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
    let sockets = job.connections.iter().filter(|connection| connection.socket.is_some());
    let over_tcp: BTreeSet<CommunicatorId> = sockets.map(|one| one.communicator).collect();
    for (id, edges) in over_tcp.into_iter().map(|id| (id, unsent(facts, job, id))) {
        if !edges.is_empty() {
            waiting.entry(id).or_default().extend(edges);
        }
    }
    let scene = Scene { facts, ports: RankPorts::new(Some(job)), cut: OnceCell::new() };
    let mut unarrived = unarrived(facts);
    unarrived.retain(|id, _| !waiting.contains_key(id));
    let mut found: Vec<Finding> =
        waiting.into_iter().filter_map(|(id, edges)| finding(&scene, id, &edges)).collect();
    found.extend(
        unarrived.into_iter().filter_map(|(id, flows)| finding_of_unarrived(facts, id, flows)),
    );
    // Of many, the latest are reported: the others have long been.
    found.sort_by_key(|finding| Reverse(finding.span.map(|span| span.first)));
    found
}

/// What all communicators are judged from.
struct Scene<'a> {
    facts: &'a Facts<'a>,
    ports: RankPorts,
    /// Ports whose own captures were cut short, and when.
    cut: OnceCell<BTreeMap<IpAddr, Timestamp>>,
}

/// A connection whose receiver waits for data.
struct Waiting<'a> {
    connection: &'a NetConnection,
    unanswered: Unanswered,
}

/// Collectives of which every rank of a ring sends as many messages.
const EVEN: [CollectiveKind; 3] =
    [CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter];

/// Over TCP there is no clear-to-send. But where all collectives were rings in which every rank sends as
/// many messages, but for the pieces of the last one, the others wait for the ranks that sent fewer.
fn unsent<'a>(facts: &Facts<'_>, job: &'a Job, id: CommunicatorId) -> Vec<Waiting<'a>> {
    let own = || {
        let all = facts.collectives.iter().map(|judged| &judged.collective);
        all.filter(|one| one.communicator == id)
    };
    let is_known = |one: &&Collective| one.kind != CollectiveKind::Unknown;
    let Some(begun) = own().filter(is_known).map(|one| one.span.first).max() else {
        return Vec::new();
    };
    let is_even = |one: &Collective| match one.kind {
        CollectiveKind::Unknown => one.span.first > begun,
        kind => EVEN.contains(&kind) && one.algorithm == Algorithm::Ring && !is_cut_short(job, one),
    };
    let connections = || job.connections.iter().filter(|one| one.communicator == id);
    // Of what no tap saw to the end, or what could not be read, nothing is missing.
    let is_seen = |one: &NetConnection| {
        let socket = one.socket.as_ref();
        socket.is_some_and(|pair| !pair.is_lost && pair.tap.is_some_and(|tap| goes_on(facts, tap)))
    };
    if !own().all(is_even) || !connections().all(is_seen) {
        return Vec::new();
    }
    let mut most: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for connection in connections() {
        let most = most.entry(connection.channel).or_default();
        *most = sent(connection).max(*most);
    }
    let edges = connections().filter_map(|connection| {
        let most = most.get(&connection.channel)?;
        let count = most.checked_sub(sent(connection)).filter(|count| *count > 0)?;
        let latest = connection.transfers.last()?;
        let (time, witness) = (latest.last_time()?, latest.witness);
        Some(Waiting { connection, unanswered: Unanswered { count, time, witness } })
    });
    edges.collect()
}

/// Whether a tap saw frames about as long as any other.
fn goes_on(facts: &Facts<'_>, tap: TapId) -> bool {
    let taps = (0..facts.state.tracker.taps().len() as u32).map(TapId);
    let latest = taps.filter_map(|tap| facts.state.last_frame(tap)).max();
    let latest = latest.zip(facts.state.last_frame(tap));
    let patience_ns = patience_ns(facts.state, facts.settings);
    latest.is_some_and(|(latest, own)| latest.nanos_since(own) < patience_ns)
}

/// Number of the latest message of a connection.
fn sent(connection: &NetConnection) -> u64 {
    connection.transfers.last().map_or(0, |transfer| transfer.number)
}

fn finding(scene: &Scene<'_>, id: CommunicatorId, edges: &[Waiting<'_>]) -> Option<Finding> {
    let facts = scene.facts;
    let asked = edges.iter().map(|edge| edge.unanswered.time).max()?;
    let silence = silence(facts, id, Some(asked))?;
    let since = silence.first;
    let silence_ns = silence.length_ns();
    let mut suspects =
        suspects(connections_of(facts, id), edges, &|rank| took_part(facts, id, rank));
    let mut exit = match suspects.ranks() {
        [rank] => exit_of(scene, id, *rank, since),
        _ => None,
    };
    // Ranks that saw a peer die may have given up before they asked it for data: then the others wait for them.
    if exit.is_none() {
        match first_gone(scene, id, suspects.ranks(), since)[..] {
            [] if !are_ends_known(facts.state, &hosts(facts, id), since) => {
                suspects = Suspects::Unknown;
            }
            [] => {}
            [(rank, found)] => {
                (suspects, exit) = (Suspects::NeverPosted(vec![rank]), Some(found));
            }
            _ => suspects = Suspects::Unknown,
        }
    }
    if exit.is_none() && is_unseen(scene, id, suspects.ranks(), since) {
        suspects = Suspects::Unknown;
    }
    let waiters: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.receiver).collect();
    let cause = match &suspects {
        Suspects::NeverPosted(_) => "never_posted",
        Suspects::NeverSent(_) => "never_sent",
        Suspects::Unknown => "unknown",
    };
    let ranks = suspects.ranks();
    let rank = ranks.first().copied().filter(|_| ranks.len() == 1);
    let communicator = facts.identity_of(id);
    let claim = PaceClaim::Stalled { communicator, suspects, silence_ns };
    let finding = KIND
        .finding(Severity::Critical, claim)
        .caused_by(cause)
        .about(Subject { communicator: Some(id), rank, ..Subject::default() })
        .over(Some(silence));
    let count: u64 = edges.iter().map(|edge| edge.unanswered.count).sum();
    let first = edges.iter().min_by_key(|edge| edge.unanswered.time)?;
    let ranks = waiters.into_iter().collect();
    let unanswered = match first.connection.socket {
        Some(_) => FrameObservation::Unsent { messages: count, ranks },
        None => FrameObservation::Unanswered { clear_to_sends: count, ranks },
    };
    let finding = finding.because(Proof::frames(unanswered, Some(first.unanswered.witness)));
    Some(match exit {
        Some(exit) => {
            let Exit { host, farewells, resets, witness, .. } = exit;
            let observation = FrameObservation::Farewells { host, farewells, resets };
            finding.because(Proof::frames(observation, Some(witness)))
        }
        None => finding,
    })
}

/// Where clear-to-sends get lost, too, no rank is seen to be asked for data: `flows` have packets that never arrived.
fn finding_of_unarrived(facts: &Facts<'_>, id: CommunicatorId, flows: u64) -> Option<Finding> {
    let silence = silence(facts, id, None)?;
    let communicator = facts.identity_of(id);
    let silence_ns = silence.length_ns();
    let claim = PaceClaim::Stalled { communicator, suspects: Suspects::Unknown, silence_ns };
    let finding = KIND
        .finding(Severity::Critical, claim)
        .caused_by("unknown")
        .about(Subject { communicator: Some(id), ..Subject::default() })
        .over(Some(silence));
    Some(finding.because(Proof::frames(FrameObservation::NeverArrived { flows }, None)))
}

/// The flows of each communicator whose packets left a rank and never arrived.
fn unarrived(facts: &Facts<'_>) -> BTreeMap<CommunicatorId, u64> {
    let Facts { state, settings, .. } = facts;
    let patience_ns = patience_ns(state, settings);
    let table = facts.table();
    let mut found: BTreeMap<CommunicatorId, u64> = BTreeMap::new();
    for pair in facts.flows {
        let Some(owner) = pair.owner else { continue };
        let views = || pair.views.iter().filter_map(|at| table.get(*at as usize));
        let at = |position| views().find(|flow| state.position(flow) == position);
        let ends = at(Position::Sender).zip(at(Position::Receiver));
        if ends.is_some_and(|(sent, received)| never_arrived(state, sent, received, patience_ns)) {
            *found.entry(owner.communicator).or_default() += 1;
        }
    }
    found
}

/// The connections of a communicator.
fn connections_of<'a>(
    facts: &'a Facts<'_>,
    id: CommunicatorId,
) -> impl Iterator<Item = &'a NetConnection> + Clone {
    let all = facts.job().map(|job| job.connections.as_slice()).unwrap_or_default();
    all.iter().filter(move |one| one.communicator == id)
}

/// From the last data of a communicator, or what a rank `asked` for last, to the end, if that is long enough for a hang.
fn silence(facts: &Facts<'_>, id: CommunicatorId, asked: Option<Timestamp>) -> Option<Span> {
    let lasts = connections_of(facts, id).filter_map(|one| one.transfers.last()?.last_time());
    let first = lasts.max().max(asked)?;
    let last = last_seen(facts.state, facts.flows, id)?;
    let rest_ns = longest_rest(facts.collectives, id).saturating_mul(LONGEST_RESTS);
    let least_ns = patience_ns(facts.state, facts.settings).max(rest_ns);
    (last.nanos_since(first) >= least_ns).then_some(Span { first, last })
}

/// The end of the rank's process, if it may be why others wait.
fn exit_of(scene: &Scene<'_>, id: CommunicatorId, rank: u32, since: Timestamp) -> Option<Exit> {
    let state = scene.facts.state;
    let addresses = Addresses::of_rank(state, &scene.ports, id, rank);
    exit(state, &addresses, since).filter(|exit| exit.is_cause)
}

/// Whether the captures at the port of one of these ranks ended before others had waited long for it, and before it
/// sent its last frame: it may have sent what was then lost.
fn is_unseen(scene: &Scene<'_>, id: CommunicatorId, ranks: &[u32], since: Timestamp) -> bool {
    if ranks.is_empty() {
        return false;
    }
    let Facts { state, settings, .. } = scene.facts;
    let until = since.plus_nanos(patience_ns(state, settings));
    let cut = scene.cut.get_or_init(|| cut_short_at_source(state));
    let is_early = |port: &IpAddr| cut.get(port).is_some_and(|end| *end < until);
    ranks.iter().any(|rank| scene.ports.ports_of(id, *rank).iter().any(is_early))
}

/// The ranks of a communicator at the address that ended connections first, if that may be why others wait. None
/// if a suspect ended no connections then: it lives, and gave up for nobody.
fn first_gone(
    scene: &Scene<'_>,
    id: CommunicatorId,
    suspects: &[u32],
    since: Timestamp,
) -> Vec<(u32, Exit)> {
    let facts = scene.facts;
    let known = facts.job().and_then(|job| job.communicator(id));
    let ranks = || known.into_iter().flat_map(|known| &known.ranks);
    let ended = ends(facts.state, &hosts(facts, id), since);
    let has_ended = |address: Option<IpAddr>| ended.iter().any(|(_, host)| address == Some(*host));
    let mut suspected = ranks().filter(|one| suspects.contains(&one.rank));
    let Some((_, first)) = ended.iter().min() else { return Vec::new() };
    if !suspected.all(|one| has_ended(one.address)) {
        return Vec::new();
    }
    let there = ranks().filter(|one| one.address == Some(*first)).map(|one| one.rank);
    there.filter_map(|rank| Some((rank, exit_of(scene, id, rank, since)?))).collect()
}

/// Where the ranks of a communicator run.
fn hosts(facts: &Facts<'_>, id: CommunicatorId) -> BTreeSet<IpAddr> {
    let known = facts.job().and_then(|job| job.communicator(id));
    known.into_iter().flat_map(|known| &known.ranks).filter_map(|one| one.address).collect()
}

/// Whether messages of the rank are in the collective that stopped: one of the last, if its connections
/// did not all carry as many.
fn took_part(facts: &Facts<'_>, id: CommunicatorId, rank: u32) -> bool {
    let mut last = latest(facts.collectives, id, None);
    last.any(|(_, one)| is_cut_short_with(facts, one, rank))
}

/// Whether a collective is not complete, and has messages of the rank.
fn is_cut_short_with(facts: &Facts<'_>, collective: &Collective, rank: u32) -> bool {
    let Some(job) = facts.job() else { return false };
    let mut connections =
        collective.transfers.iter().filter_map(|one| job.connection(one.connection));
    let has_own = connections.any(|one| [one.sender, one.receiver].contains(&Some(rank)));
    has_own && is_cut_short(job, collective)
}

/// Whether some tap saw it carry something.
fn is_captured(connection: &NetConnection) -> bool {
    connection.first_cts.is_some() || !connection.transfers.is_empty()
}

/// The ranks that hold up the others: waited for and not waiting; if all wait, those that sent
/// least.
fn suspects<'a>(
    connections: impl Iterator<Item = &'a NetConnection> + Clone,
    edges: &[Waiting<'_>],
    took_part: &dyn Fn(u32) -> bool,
) -> Suspects {
    let awaited: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.sender).collect();
    let waiting: BTreeSet<u32> = edges.iter().filter_map(|edge| edge.connection.receiver).collect();
    // Of a rank whose own connections no tap saw, it is not known whether it waits itself.
    let receives =
        |rank: &u32| connections.clone().any(|one| one.receiver == Some(*rank) && is_captured(one));
    let idle: Vec<u32> =
        awaited.difference(&waiting).copied().filter(|rank| receives(rank)).collect();
    if !idle.is_empty() {
        // What it asked for, it got, and then it stopped.
        let (stuck, absent): (Vec<u32>, Vec<u32>) =
            idle.into_iter().partition(|rank| took_part(*rank));
        return match absent.is_empty() {
            true => Suspects::NeverSent(stuck),
            false => Suspects::NeverPosted(absent),
        };
    }
    let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
    // Only a rank that was asked can have failed to send.
    for Waiting { connection, .. } in edges {
        let Some(sender) = connection.sender else { continue };
        let last = connection.transfers.last().map_or(0, |transfer| transfer.number);
        let known = sent.entry(sender).or_insert(last);
        *known = last.min(*known);
    }
    let (seen, unseen): (Vec<_>, Vec<_>) = sent.into_iter().partition(|(rank, _)| receives(rank));
    let counts = || seen.iter().map(|(_, sent)| *sent);
    let (Some(least), Some(most)) = (counts().min(), counts().max()) else {
        return Suspects::Unknown;
    };
    // The rank that sent least of those that were seen may wait for one that was not.
    if least == most || unseen.iter().any(|(_, sent)| *sent <= least) {
        return Suspects::Unknown;
    }
    let ranks = seen.into_iter().filter(|(_, sent)| *sent == least).map(|(rank, _)| rank);
    Suspects::NeverSent(ranks.collect())
}
