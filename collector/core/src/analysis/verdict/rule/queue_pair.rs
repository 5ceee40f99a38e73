//! A queue pair in error at one end, by the kernel of its host.
//!
//! A sender's queue pair also fails where nothing came back: then the outage is the cause, and its
//! verdict has the finding already.

use super::{Verdict, explain};
use crate::analysis::finding::Finding;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::fuse::{is_of_packets, who};
use crate::analysis::verdict::subject::VerdictSubject;
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;

/// What follows when a queue pair neither sends nor answers.
const FOLLOWS: &[&str] = &[
    "stalled_collective",
    "inside_collective",
    "communicator_failed",
    "timeouts",
    "loss",
    "straggler",
    "nccl_warning",
];

/// What packets leave of a rank whose queue pair is in error.
const LOOKS_LIKE: [Class; 5] = [
    Class::ProcessGone,
    Class::HostDead,
    Class::QueuePairError,
    Class::GpuStuck,
    Class::ProcessStopped,
];

/// Settles verdicts of packets on ranks with a queue pair in error, and adds one where packets name
/// no cause.
pub fn settle(evidence: &Evidence<'_>, found: &mut Vec<Verdict>) {
    for (at, finding) in evidence.named("queue_pair_error") {
        let named = finding.subject.communicator.zip(finding.subject.rank);
        let fits = |verdict: &&mut Verdict| {
            let classes = [Some(verdict.class), verdict.alternative];
            is_of_packets(evidence, verdict)
                && named.is_some_and(|named| is_about(evidence, verdict, named))
                && classes.into_iter().flatten().any(|class| LOOKS_LIKE.contains(&class))
        };
        if let Some(verdict) = found.iter_mut().find(fits) {
            (verdict.class, verdict.alternative) = (Class::QueuePairError, None);
            (verdict.grade, verdict.remedy) = (Grade::Proven, Class::QueuePairError.remedy());
            verdict.explains.retain(|place| *place != at);
            verdict.rests_on.push(at);
        } else if let Some(verdict) = found.iter_mut().find(|one| is_open(one, finding)) {
            let subject = VerdictSubject { rank: finding.subject.rank, ..verdict.subject };
            verdict.subject = subject;
            (verdict.class, verdict.remedy) =
                (Class::QueuePairError, Class::QueuePairError.remedy());
            (verdict.alternative, verdict.grade) = (Some(Class::ProcessGone), Grade::Inferred);
            verdict.rests_on.push(at);
        } else if !found.iter().any(|one| one.explains.contains(&at)) {
            found.push(own(evidence, at, finding, found));
        }
    }
}

/// Whether a verdict says of a communicator only that it stands still.
fn is_open(verdict: &Verdict, finding: &Finding) -> bool {
    verdict.class == Class::Other("stalled_collective")
        && verdict.subject.rank.is_none()
        && verdict.subject.communicator == finding.subject.communicator
}

/// Whether a verdict is about a rank, by its name or by a port that it uses: the same process has other
/// communicators, too.
fn is_about(evidence: &Evidence<'_>, verdict: &Verdict, named: (CommunicatorId, u32)) -> bool {
    let ports = |(id, rank)| evidence.rank_ports.ports_of(id, rank);
    let who = who(evidence, verdict);
    let by_name = who.map(ports).unwrap_or_default();
    let mut places = by_name.into_iter().chain(verdict.subject.port);
    let own = ports(named);
    who == Some(named) || places.any(|port| own.contains(&port))
}

/// A verdict on the queue pair alone. It may be in error because its peer is gone.
fn own(evidence: &Evidence<'_>, at: usize, finding: &Finding, found: &[Verdict]) -> Verdict {
    let subject = VerdictSubject {
        communicator: finding.subject.communicator,
        rank: finding.subject.rank,
        ..VerdictSubject::default()
    };
    let mut verdict = Verdict::of_finding(Class::QueuePairError, subject, at, finding);
    (verdict.alternative, verdict.grade) = (Some(Class::ProcessGone), Grade::Inferred);
    explain(evidence, &mut verdict, FOLLOWS, |other| {
        other.subject.communicator == finding.subject.communicator
    });
    let is_explained = |place: &usize| {
        found.iter().any(|one| one.rests_on.contains(place) || one.explains.contains(place))
    };
    verdict.explains.retain(|place| !is_explained(place));
    verdict
}
