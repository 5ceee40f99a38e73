//! Packets and recorded calls of one rank together: what both leave.
//!
//! A process that wrote a dump of the flight recorder ran when the watchdog of the job gave up, minutes
//! after the stall. One that wrote none, while all others did, was gone or stopped by then.

use super::Verdict;
use super::VerdictClaim;
use super::class::Class;
use super::evidence::Evidence;
use super::subject::VerdictSubject;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::roll_call::flight::Outcome;
use crate::link::job::Identity;

/// Classes of a process that writes no dump.
const MUTE: [Class; 3] = [Class::ProcessGone, Class::ProcessStopped, Class::HostDead];

/// Narrows the causes that packets leave to those that the records leave, too, and drops the verdicts of
/// records that say no more.
pub(super) fn fuse(verdicts: &mut Vec<Verdict>, evidence: &Evidence<'_>) {
    if evidence.facts.state.roll_call.dumps.is_empty() {
        return;
    }
    let mut settled: Vec<usize> = Vec::new();
    for at in 0..verdicts.len() {
        let Some(verdict) = verdicts.get(at).filter(|one| is_of_packets(evidence, one)) else {
            continue;
        };
        let Some(who) = who(evidence, verdict) else { continue };
        let mut fused = verdict.clone();
        if has_dump(evidence, who) {
            narrow(&mut fused, |class| !MUTE.contains(&class));
            if fused.class == Class::RankNotCalled && is_inside(evidence) {
                fused.class = Class::GpuStuck;
                fused.remedy = Class::GpuStuck.remedy();
            }
        } else if let Some(mute) = without_dump(verdicts, evidence, who) {
            let both =
                fused.alternative.map(|other| [fused.class, other]).unwrap_or([fused.class; 2]);
            if let Some(class) = both.into_iter().find(|class| MUTE.contains(class)) {
                let other = both.into_iter().find(|other| *other != class);
                (fused.class, fused.alternative) = (class, other);
                fused.remedy = class.remedy();
                let said = verdicts.get(mute).into_iter();
                fused
                    .explains
                    .extend(said.flat_map(|one| one.rests_on.iter().chain(&one.explains)));
                settled.push(mute);
            }
        }
        let inside = (0..verdicts.len()).filter(|at| {
            verdicts.get(*at).is_some_and(|one| one.class == Class::Other("inside_collective"))
        });
        for at in inside {
            fused
                .explains
                .extend(verdicts.get(at).into_iter().flat_map(|one| one.rests_on.clone()));
            settled.push(at);
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
fn is_of_packets(evidence: &Evidence<'_>, verdict: &Verdict) -> bool {
    let mut rests = verdict.rests_on.iter().filter_map(|at| evidence.findings.get(*at));
    let is_outage = matches!(verdict.claim, VerdictClaim::Outage { is_open: true, .. });
    is_outage || rests.any(|finding| finding.id == "stalled_collective")
}

/// The rank of a verdict among those that the dumps number.
#[derive(Clone, Copy)]
enum Who {
    Rank(u32),
    /// Traffic alone does not show how the job numbers its ranks.
    Unnumbered,
}

/// The rank of a verdict, if the dumps are of its communicator: they number the ranks of the job.
fn who(evidence: &Evidence<'_>, verdict: &Verdict) -> Option<Who> {
    let VerdictSubject { communicator, rank, port, .. } = verdict.subject;
    let ranks = port.map(|port| evidence.rank_ports.ranks_at(port)).unwrap_or_default();
    let only = ranks.first().copied().filter(|_| ranks.len() == 1);
    let (id, rank) = communicator.zip(rank).or(only)?;
    let known = evidence.facts.communicator(id)?;
    let is_numbered = !matches!(known.identity, Identity::Inferred(_));
    let is_world = known.ranks.len() == largest(evidence);
    is_world.then_some(if is_numbered { Who::Rank(rank) } else { Who::Unnumbered })
}

/// Ranks of the largest group in the dumps: the whole job.
fn largest(evidence: &Evidence<'_>) -> usize {
    let dumps = evidence.facts.state.roll_call.dumps.iter();
    let groups = dumps.flat_map(|one| one.dump.groups.values());
    groups.map(|group| group.ranks.len()).max().unwrap_or(0)
}

fn has_dump(evidence: &Evidence<'_>, who: Who) -> bool {
    let dumps = &evidence.facts.state.roll_call.dumps;
    match who {
        Who::Rank(rank) => dumps.iter().any(|dump| dump.rank == rank),
        Who::Unnumbered => dumps.len() == largest(evidence),
    }
}

/// Whether the records say that all ranks called.
fn is_inside(evidence: &Evidence<'_>) -> bool {
    let rolls = &evidence.facts.rolls.flight;
    !rolls.is_empty() && rolls.iter().all(|roll| matches!(roll.outcome, Outcome::Inside(_)))
}

/// The verdict that rests on the missing dump of this rank alone.
fn without_dump(verdicts: &[Verdict], evidence: &Evidence<'_>, who: Who) -> Option<usize> {
    verdicts.iter().position(|one| {
        let mut rests = one.rests_on.iter().filter_map(|at| evidence.findings.get(*at));
        rests.any(|finding| match &finding.claim {
            Claim::Calls(CallsClaim::NoDump { ranks, .. }) => match who {
                Who::Rank(rank) => ranks[..] == [rank],
                Who::Unnumbered => ranks.len() == 1,
            },
            _ => false,
        })
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
