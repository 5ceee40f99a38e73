//! Jobs that no longer move: which verdicts stop them, what contradicts each, and how far every
//! communicator has come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::collective::Collective;
use super::finding::Finding;
use super::finding::claim::Claim;
use super::finding::claim::calls::CallsClaim;
use super::finding::facts::Facts;
use super::finding::settings::Settings;
use super::judged::JudgedCollective;
use super::queue_pair::QueuePair;
use super::severity::Severity;
use super::state::State;
use super::understanding::Understanding;
use super::verdict::class::Class;
use super::verdict::fuse::MUTE;
use super::verdict::{Missing, Verdict, VerdictClaim, hang};
use crate::decode::counter::measure::Measure;
use crate::link::job::{CommunicatorId, Identity, Job};
use crate::link::rank_ports::RankPorts;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Shortest time without progress that counts as a hang, in seconds: at the end of a capture, and live, where
/// a pause may still end.
const PATIENCE_S: f64 = 1.0;
const LIVE_PATIENCE_S: f64 = 5.0;

/// How many times longer than the job's longest earlier pause a hang is.
pub const LONGEST_RESTS: u64 = 5;

/// What no longer moves, and what does.
#[derive(Clone, Debug, Default)]
pub struct Hangs {
    /// The costliest cause first.
    pub found: Vec<Hang>,
    /// Every communicator of which data was seen.
    pub motions: Vec<Motion>,
    /// Shortest time without progress that counts as a hang, in nanoseconds.
    pub after_ns: u64,
    /// Data goes over TCP that was not read.
    pub has_unread_sockets: bool,
    /// Why nothing can be said where no cause was found.
    pub missing: Option<Missing>,
}

/// A cause that stops a job.
#[derive(Clone, Debug)]
pub struct Hang {
    /// Place of its verdict.
    pub verdict: usize,
    /// The communicators that it stops, as far as they are known.
    pub communicators: Vec<CommunicatorId>,
    /// What contradicts it.
    pub contradictions: Vec<Contradiction>,
}

/// What contradicts a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// Another verdict on the same job; its place.
    Verdict(usize),
    /// The process that is said to be gone wrote a dump: rank and file.
    Dump(u32, String),
    /// There is no dump of these ranks, and they are not those that are said to be gone.
    NoDump(Vec<u32>),
    /// Counters of the NIC of this port say that its link never went down.
    LinkUp(IpAddr),
    /// Packets show that all communicators moved data until the end.
    Moving,
}

/// How far a communicator has come.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// The communicator.
    pub communicator: CommunicatorId,
    /// Its last data.
    pub moved: Timestamp,
    /// From then until the last frame of the taps that saw it, in nanoseconds.
    pub silence_ns: u64,
    /// The longest time between two of its collectives before, in nanoseconds.
    pub longest_rest_ns: u64,
    /// A receiver had offered room, and no data came.
    pub is_waiting: bool,
    /// Its data goes over TCP.
    pub is_over_tcp: bool,
}

/// What of `understanding` no longer moves.
#[must_use]
pub fn hangs(understanding: &Understanding) -> Hangs {
    let verdicts = &understanding.verdicts.found;
    let ports = RankPorts::new(understanding.state.job.as_ref());
    let motions =
        motions(&understanding.state, &understanding.collectives, &understanding.queue_pairs);
    let mut found: Vec<Hang> = stopping(understanding)
        .map(|(at, verdict)| Hang {
            verdict: at,
            communicators: communicators(understanding, &ports, verdict),
            contradictions: contradictions(understanding, &ports, verdict),
        })
        .collect();
    if do_all_move(&motions, understanding.hang_after_ns) {
        for one in &mut found {
            let verdict = verdicts.get(one.verdict);
            let mut shown = verdict.into_iter().flat_map(|it| findings(understanding, it));
            if shown.any(|finding| matches!(finding.claim, Claim::Calls(_))) {
                one.contradictions.push(Contradiction::Moving);
            }
        }
    }
    let others: Vec<Vec<Contradiction>> =
        found.iter().map(|one| rivals(verdicts, &found, one)).collect();
    for (one, others) in found.iter_mut().zip(others) {
        one.contradictions.extend(others);
    }
    Hangs {
        found,
        motions,
        after_ns: understanding.hang_after_ns,
        has_unread_sockets: understanding
            .state
            .job
            .as_ref()
            .is_some_and(|job| job.unread_sockets > 0),
        missing: understanding.verdicts.missing.clone(),
    }
}

/// Shortest time without progress that counts as a hang.
#[must_use]
pub fn patience_ns(state: &State, settings: &Settings) -> u64 {
    let is_live = state.tracker.taps().iter().any(|tap| tap.tap.format.is_live());
    let default = if is_live { LIVE_PATIENCE_S } else { PATIENCE_S };
    (settings.findings.hang_after_s.unwrap_or(default) * 1e9) as u64
}

/// When the last tap that saw the communicator ended: other taps may have captured longer.
#[must_use]
pub fn last_seen(state: &State, flows: &[QueuePair], id: CommunicatorId) -> Option<Timestamp> {
    let is_own = |flow: &&QueuePair| flow.owner.is_some_and(|owner| owner.communicator == id);
    let views = flows.iter().filter(is_own).flat_map(|flow| &flow.views);
    let table = state.tracker.flows().flows();
    let taps: BTreeSet<TapId> =
        views.filter_map(|at| Some(table.get(*at as usize)?.key.tap)).collect();
    let last = |tap: TapId| state.last_frame(tap);
    let seen = taps.into_iter().filter_map(last).max();
    // Over TCP there are no queue pairs.
    let all = (0..state.tracker.taps().len() as u32).map(TapId);
    seen.or_else(|| all.filter_map(last).max())
}

/// Whether data of some communicator was seen, and all moved until the end of the captures.
#[must_use]
pub fn is_moving(facts: &Facts<'_>) -> bool {
    let motions = motions(facts.state, facts.collectives, facts.flows);
    do_all_move(&motions, patience_ns(facts.state, facts.settings))
}

fn do_all_move(motions: &[Motion], after_ns: u64) -> bool {
    !motions.is_empty() && motions.iter().all(|motion| motion.silence_ns < after_ns)
}

/// The longest time between two collectives of the communicator, in nanoseconds.
#[must_use]
pub fn longest_rest(collectives: &[JudgedCollective], id: CommunicatorId) -> u64 {
    let mut ended: Option<Timestamp> = None;
    let mut longest = 0;
    let collectives = collectives.iter().map(|judged| &judged.collective);
    for collective in collectives.filter(|one| one.communicator == id) {
        if let Some(ended) = ended {
            longest = longest.max(collective.span.first.nanos_since(ended));
        }
        ended = ended.max(Some(collective.span.last));
    }
    longest
}

/// The verdicts that stop a job, with their places.
pub fn stopping(understanding: &Understanding) -> impl Iterator<Item = (usize, &Verdict)> {
    let all = understanding.verdicts.found.iter().enumerate();
    all.filter(|(_, verdict)| stops(understanding, verdict))
}

/// The collectives in which communicators stand still, by place.
#[must_use]
pub fn unfinished(understanding: &Understanding) -> BTreeSet<usize> {
    let Some(job) = &understanding.state.job else { return BTreeSet::new() };
    let ports = RankPorts::new(Some(job));
    let standing = stopping(understanding);
    let standing: BTreeSet<CommunicatorId> =
        standing.flat_map(|(_, verdict)| communicators(understanding, &ports, verdict)).collect();
    let last = standing.into_iter().flat_map(|id| latest(&understanding.collectives, id, None));
    last.filter(|(_, one)| is_cut_short(job, one)).map(|(at, _)| at).collect()
}

/// The latest collectives of a communicator, of those that began `until` then, with their places: two, as messages of
/// one that stopped may look like two.
pub fn latest(
    collectives: &[JudgedCollective],
    id: CommunicatorId,
    until: Option<Timestamp>,
) -> impl Iterator<Item = (usize, &Collective)> {
    const PIECES: usize = 2;
    let all = collectives.iter().enumerate().map(|(at, judged)| (at, &judged.collective));
    let is_own = |(_, one): &(usize, &Collective)| {
        one.communicator == id && until.is_none_or(|until| one.span.first <= until)
    };
    let mut own: Vec<(usize, &Collective)> = all.filter(is_own).collect();
    own.sort_by_key(|(_, one)| Reverse(one.span.first));
    own.into_iter().take(PIECES)
}

/// Whether the connections of a channel did not carry as many messages of the collective.
#[must_use]
pub fn is_cut_short(job: &Job, collective: &Collective) -> bool {
    let mut counts: BTreeMap<Option<u32>, BTreeSet<usize>> = BTreeMap::new();
    for transfers in &collective.transfers {
        let Some(connection) = job.connection(transfers.connection) else { continue };
        counts.entry(connection.channel).or_default().insert(transfers.places.len());
    }
    counts.values().any(|counts| counts.len() > 1)
}

/// Whether a job stands still because of it. What slows it, or is over, does not stop it.
#[must_use]
pub fn stops(understanding: &Understanding, verdict: &Verdict) -> bool {
    let id = verdict.class.id();
    let is_known_to_stand =
        || findings(understanding, verdict).any(|finding| hang::UNKNOWN.contains(&finding.id));
    if verdict.severity == Severity::Info {
        return false;
    }
    match (verdict.class, &verdict.claim) {
        // A shorter one may still end.
        (_, VerdictClaim::Outage { is_open, length_ns, .. }) => {
            *is_open && *length_ns >= understanding.hang_after_ns
        }
        (Class::CaptureStopped, _) => false,
        (Class::Pause, _) => is_known_to_stand(),
        (Class::Other("receiver_not_ready"), _) => is_known_to_stand(),
        _ => hang::UNKNOWN.contains(&id) || hang::page(verdict.class).is_some(),
    }
}

/// The findings of a verdict: those that show it, and those that follow from it.
fn findings<'a>(
    understanding: &'a Understanding,
    verdict: &'a Verdict,
) -> impl Iterator<Item = &'a Finding> {
    let places = verdict.rests_on.iter().chain(&verdict.explains);
    places.filter_map(|at| understanding.findings.found.get(*at))
}

fn communicators(
    understanding: &Understanding,
    ports: &RankPorts,
    verdict: &Verdict,
) -> Vec<CommunicatorId> {
    let mut all: BTreeSet<CommunicatorId> = verdict.subject.communicator.into_iter().collect();
    all.extend(findings(understanding, verdict).filter_map(|one| one.subject.communicator));
    let ends = [verdict.subject.port, verdict.subject.peer_port].into_iter().flatten();
    all.extend(ends.flat_map(|port| ports.ranks_at(port)).map(|(id, _)| id));
    all.into_iter().collect()
}

fn contradictions(
    understanding: &Understanding,
    ports: &RankPorts,
    verdict: &Verdict,
) -> Vec<Contradiction> {
    let state = &understanding.state;
    let mut found = Vec::new();
    let at_port = || {
        let ranks = verdict.subject.port.map(|port| ports.ranks_at(port)).unwrap_or_default();
        ranks.first().copied().filter(|_| ranks.len() == 1).map(|(id, rank)| (Some(id), rank))
    };
    let named = verdict.subject.rank.map(|rank| (verdict.subject.communicator, rank));
    // Traffic alone does not show how the job, and so its dumps, number the ranks.
    let is_numbered = |id: CommunicatorId| {
        let known = state.job.as_ref().and_then(|job| job.communicator(id));
        known.is_some_and(|known| !matches!(known.identity, Identity::Inferred(_)))
    };
    let rank = named.or_else(at_port).filter(|(id, _)| id.is_none_or(is_numbered));
    let rank = rank.map(|(_, rank)| rank);
    if MUTE.contains(&verdict.class) {
        let own = state.roll_call.dumps.iter().filter(|dump| Some(dump.rank) == rank);
        found.extend(own.map(|dump| Contradiction::Dump(dump.rank, dump.file.clone())));
    }
    found.extend(without_dump(understanding, verdict, rank));
    let port = verdict.subject.port.filter(|_| verdict.class == Class::PortDown);
    if let Some(port) = port {
        let rises = || {
            let nics = state.counters.of_port(port);
            nics.flat_map(|nic| nic.of_measure(Measure::LinkDown)).map(|(_, series)| series)
        };
        let never = rises().all(|series| series.rises().all(|(_, rise)| rise == 0));
        if rises().next().is_some() && never {
            found.push(Contradiction::LinkUp(port));
        }
    }
    found
}

/// Ranks without a dump, which a verdict of packets explains and does not say to be gone.
fn without_dump(
    understanding: &Understanding,
    verdict: &Verdict,
    rank: Option<u32>,
) -> Option<Contradiction> {
    let explained = verdict.explains.iter().filter_map(|at| understanding.findings.found.get(*at));
    let missing = explained.filter_map(|finding| match &finding.claim {
        Claim::Calls(CallsClaim::NoDump { ranks, .. }) => Some(ranks),
        _ => None,
    });
    let is_gone = MUTE.contains(&verdict.class);
    // Where the ranks of packets have no number, one that is missing is the one that is gone.
    let is_it = |missing: &u32, all: &[u32]| {
        is_gone && rank.map_or(all.len() == 1, |rank| rank == *missing)
    };
    let others = missing.flat_map(|all| all.iter().filter(|one| !is_it(one, all)));
    let others: BTreeSet<u32> = others.copied().collect();
    (!others.is_empty()).then(|| Contradiction::NoDump(others.into_iter().collect()))
}

/// Other causes that are said to stop the same job.
fn rivals(verdicts: &[Verdict], found: &[Hang], one: &Hang) -> Vec<Contradiction> {
    let Some(own) = verdicts.get(one.verdict) else { return Vec::new() };
    let is_same_job = |other: &Hang| {
        one.communicators.is_empty()
            || other.communicators.is_empty()
            || one.communicators.iter().any(|id| other.communicators.contains(id))
    };
    let agrees = |other: &Verdict| {
        let classes = [Some(own.class), own.alternative];
        let is_class = classes.contains(&Some(other.class)) || other.alternative == Some(own.class);
        is_class && (own.subject.rank == other.subject.rank || other.subject.rank.is_none())
    };
    let others = found.iter().filter(|other| other.verdict != one.verdict && is_same_job(other));
    let rivals = others.filter(|other| verdicts.get(other.verdict).is_some_and(|it| !agrees(it)));
    rivals.map(|other| Contradiction::Verdict(other.verdict)).collect()
}

fn motions(state: &State, collectives: &[JudgedCollective], flows: &[QueuePair]) -> Vec<Motion> {
    let Some(job) = &state.job else { return Vec::new() };
    let ids = (0..job.communicators.len() as u32).map(CommunicatorId);
    let motion = |id: CommunicatorId| {
        let own = || job.connections.iter().filter(move |one| one.communicator == id);
        let moved = own().filter_map(|one| one.transfers.last()?.last_time()).max()?;
        let end = last_seen(state, flows, id)?;
        Some(Motion {
            communicator: id,
            moved,
            silence_ns: end.nanos_since(moved),
            longest_rest_ns: longest_rest(collectives, id),
            is_waiting: own().any(|one| one.unanswered.is_some()),
            is_over_tcp: own().any(|one| one.socket.is_some()),
        })
    };
    ids.filter_map(motion).collect()
}
