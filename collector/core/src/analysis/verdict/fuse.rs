//! Packets and records of one rank together: what both leave.
//!
//! A process that wrote a dump of the flight recorder, or answered RAS, runs. One that did not, while all
//! others did, is gone or stopped. But a file that is not there may only not have been collected: where
//! packets name a cause, a missing dump adds to it, and is no cause of its own.

use super::Verdict;
use super::VerdictClaim;
use super::class::Class;
use super::evidence::Evidence;
use super::hang;
use super::subject::VerdictSubject;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::roll_call::presence::{Life, Named, Presence};
use crate::link::job::CommunicatorId;

/// Classes of a process that writes no dump and does not answer RAS.
pub(in crate::analysis) const MUTE: [Class; 3] =
    [Class::ProcessGone, Class::ProcessStopped, Class::HostDead];

/// Classes of a process that RAS cannot reach, though it may run.
const CUT_OFF: [Class; 2] = [Class::PortDown, Class::PathDead];

/// Narrows the causes that packets leave to those that the records leave, too, and drops the verdicts of
/// records that say no more.
pub(super) fn fuse(verdicts: &mut Vec<Verdict>, evidence: &Evidence<'_>) {
    if evidence.facts.state.roll_call.is_empty() {
        return;
    }
    let mut settled: Vec<usize> = Vec::new();
    for at in 0..verdicts.len() {
        let Some(verdict) = verdicts.get(at).filter(|one| is_of_packets(evidence, one)) else {
            continue;
        };
        let mut fused = verdict.clone();
        if let Some((id, rank)) = who(evidence, verdict) {
            narrow_to(&mut fused, presence(evidence, id, rank));
        }
        let is_named = hang::page(fused.class).is_some();
        for (other, said) in verdicts.iter().enumerate().filter(|(other, _)| *other != at) {
            if said_by_records(evidence, said, &fused, is_named) {
                fused.explains.extend(said.rests_on.iter().chain(&said.explains));
                settled.push(other);
            }
        }
        fused.explains.retain(|place| !fused.rests_on.contains(place));
        fused.explains.sort_unstable();
        fused.explains.dedup();
        if let Some(verdict) = verdicts.get_mut(at) {
            *verdict = fused;
        }
    }
    let mut place = 0..;
    verdicts.retain(|_| place.next().is_none_or(|at| !settled.contains(&at)));
}

/// Whether packets show that a job stands still there.
pub(super) fn is_of_packets(evidence: &Evidence<'_>, verdict: &Verdict) -> bool {
    is_outage(verdict)
        || rests_on(evidence, verdict).any(|finding| finding.id == "stalled_collective")
}

/// Whether it is of packets that have no answer until the end.
const fn is_outage(verdict: &Verdict) -> bool {
    matches!(verdict.claim, VerdictClaim::Outage { is_open: true, .. })
}

fn rests_on<'a>(
    evidence: &'a Evidence<'_>,
    verdict: &'a Verdict,
) -> impl Iterator<Item = &'a crate::analysis::finding::Finding> {
    verdict.rests_on.iter().filter_map(|at| evidence.findings.get(*at))
}

/// The only rank that a verdict is about.
pub(super) fn who(evidence: &Evidence<'_>, verdict: &Verdict) -> Option<(CommunicatorId, u32)> {
    let VerdictSubject { communicator, rank, port, .. } = verdict.subject;
    let ranks = port.map(|port| evidence.rank_ports.ranks_at(port)).unwrap_or_default();
    let only = ranks.first().copied().filter(|_| ranks.len() == 1);
    communicator.zip(rank).or(only)
}

fn presence(evidence: &Evidence<'_>, id: CommunicatorId, rank: u32) -> Presence {
    let Some(communicator) = evidence.facts.communicator(id) else { return Presence::default() };
    let ports = evidence.rank_ports.ports_of(id, rank);
    let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    let named = Named { communicator, rank, ports: &ports };
    evidence.facts.state.roll_call.presence(evidence.facts.rolls, named)
}

/// Leaves the classes that fit what the records say of the rank.
fn narrow_to(fused: &mut Verdict, presence: Presence) {
    match presence.life {
        Life::Runs => {
            narrow(fused, |class| !MUTE.contains(&class));
            // What it received and did not answer, its process did not cause.
            if fused.class == Class::ProcessGone && is_outage(fused) {
                (fused.class, fused.alternative) = (Class::QueuePairError, None);
                fused.remedy = Class::QueuePairError.remedy();
            }
            if fused.class == Class::RankNotCalled && presence.has_called == Some(true) {
                fused.class = Class::GpuStuck;
                fused.remedy = Class::GpuStuck.remedy();
            }
        }
        Life::Silent => {
            let both = [Some(fused.class), fused.alternative];
            let mute = both.into_iter().flatten().find(|class| MUTE.contains(class));
            if let Some(class) = mute {
                let other = both.into_iter().flatten().find(|other| *other != class);
                (fused.class, fused.alternative) = (class, other);
                fused.remedy = class.remedy();
            } else if fused.class == Class::PortDown && is_outage(fused) {
                // A port that is down keeps no process from writing its dump.
                (fused.class, fused.alternative) = (Class::HostDead, Some(Class::PortDown));
                fused.subject.heading = None;
                fused.remedy = Class::HostDead.remedy();
            }
        }
        Life::Unknown => {}
    }
    if presence.has_neighbour {
        narrow(fused, |class| class != Class::HostDead);
    }
}

/// Whether a verdict that rests on records alone says no more than `fused` does.
fn said_by_records(
    evidence: &Evidence<'_>,
    said: &Verdict,
    fused: &Verdict,
    is_named: bool,
) -> bool {
    if said.class == Class::Other("inside_collective") {
        return is_named;
    }
    let mut rests = rests_on(evidence, said).peekable();
    let is_about = |rank: Option<u32>| fused.subject.rank.is_some() && rank == fused.subject.rank;
    rests.peek().is_some()
        && rests.all(|finding| match &finding.claim {
            Claim::Calls(CallsClaim::NoDump { .. }) => is_named,
            Claim::Calls(CallsClaim::Silent { processes, .. }) => {
                let classes = [Some(fused.class), fused.alternative];
                let fits = |class: Class| MUTE.contains(&class) || CUT_OFF.contains(&class);
                processes.len() == 1
                    && is_about(finding.subject.rank)
                    && classes.into_iter().flatten().any(fits)
            }
            // The ranks of an outage wait in the collective before, which others have left.
            Claim::Calls(CallsClaim::Behind { behind, .. }) => {
                let is_outage = matches!(fused.claim, VerdictClaim::Outage { .. });
                is_outage && behind.launched.saturating_add(1) == behind.foremost
            }
            _ => false,
        })
}

/// Leaves only classes that `fits` accepts, if any does.
fn narrow(verdict: &mut Verdict, fits: impl Fn(Class) -> bool) {
    match (fits(verdict.class), verdict.alternative) {
        (true, Some(other)) if !fits(other) => verdict.alternative = None,
        (false, Some(other)) if fits(other) => {
            verdict.class = other;
            verdict.alternative = None;
            verdict.remedy = other.remedy();
        }
        _ => {}
    }
}
