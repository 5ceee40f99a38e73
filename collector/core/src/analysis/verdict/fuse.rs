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
use super::subject::{Heading, VerdictSubject};
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::roll_call::presence::{Life, Named, Presence};
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;

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

/// Whether nothing passes a port, which no counter shows to be down, on its way to it or both ways. If only
/// one peer sent there, it may be their path as well.
fn is_unreached(verdict: &Verdict) -> bool {
    let is_at_port = match (verdict.class, verdict.subject.heading) {
        (Class::PortDown, Some(Heading::Towards | Heading::Both)) => true,
        (Class::PathDead, Some(Heading::Towards)) => verdict.alternative == Some(Class::PortDown),
        _ => false,
    };
    is_outage(verdict) && is_at_port && verdict.grade != Grade::Proven
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
            // Packets alone leave its process or its host, and both live: it may have ended after its dump.
            let both = (fused.class, fused.alternative);
            if both == (Class::ProcessGone, Some(Class::HostDead)) && is_outage(fused) {
                (fused.class, fused.alternative) =
                    (Class::QueuePairError, Some(Class::ProcessGone));
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
            } else if presence.misses_dump && !presence.has_neighbour && is_unreached(fused) {
                // A port that nothing reaches keeps no process from writing its dump.
                if fused.subject.heading == Some(Heading::Both) {
                    // It sent after the last packet reached it: as a dead port does, or a host just before it dies.
                    fused.alternative = Some(Class::HostDead);
                } else {
                    (fused.class, fused.alternative) = (Class::HostDead, Some(fused.class));
                    (fused.subject.heading, fused.subject.peer_port) = (None, None);
                    fused.grade = Grade::Inferred;
                    fused.remedy = Class::HostDead.remedy();
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::severity::Severity;

    fn outage(class: Class, alternative: Option<Class>, heading: Option<Heading>) -> Verdict {
        let claim = VerdictClaim::Outage { length_ns: 1, is_open: true, tries: 2, flows: 2 };
        let subject = VerdictSubject { heading, ..VerdictSubject::default() };
        let verdict = Verdict::new(class, Severity::Critical, subject, claim);
        Verdict { alternative, ..verdict }
    }

    fn narrowed(mut verdict: Verdict, presence: Presence) -> (Class, Option<Class>) {
        narrow_to(&mut verdict, presence);
        (verdict.class, verdict.alternative)
    }

    #[test]
    fn a_process_with_a_dump_is_not_gone_by_packets_alone() {
        let runs = Presence { life: Life::Runs, ..Presence::default() };
        let gone = |alternative| narrowed(outage(Class::ProcessGone, alternative, None), runs);
        let error = (Class::QueuePairError, Some(Class::ProcessGone));
        assert_eq!(gone(Some(Class::HostDead)), error);
        // The kernel of its host ended its connections.
        assert_eq!(gone(None), (Class::ProcessGone, None));
    }

    #[test]
    fn a_host_without_a_dump_that_nothing_reaches_is_dead() {
        let silent = Presence { life: Life::Silent, misses_dump: true, ..Presence::default() };
        let down = |heading, presence| {
            narrowed(outage(Class::PortDown, Some(Class::Pause), Some(heading)), presence)
        };
        let dead = (Class::HostDead, Some(Class::PortDown));
        let kept = (Class::PortDown, Some(Class::Pause));
        assert_eq!(down(Heading::Towards, silent), dead);
        assert_eq!(down(Heading::Both, silent), (Class::PortDown, Some(Class::HostDead)));
        assert_eq!(down(Heading::From, silent), kept, "it sends");
        let path = |alternative, presence| {
            narrowed(outage(Class::PathDead, alternative, Some(Heading::Towards)), presence)
        };
        let other = Some(Class::PortDown);
        assert_eq!(path(other, silent), (Class::HostDead, Some(Class::PathDead)));
        assert_eq!(path(None, silent), (Class::PathDead, None), "others reach it");
        let collected = Presence { misses_dump: false, ..silent };
        assert_eq!(path(other, collected), (Class::PathDead, other));
        assert_eq!(
            down(Heading::Towards, Presence { misses_dump: false, ..silent }),
            kept,
            "RAS alone"
        );
        let neighbour = Presence { has_neighbour: true, ..silent };
        assert_eq!(down(Heading::Towards, neighbour), kept, "its host lives");
    }
}
