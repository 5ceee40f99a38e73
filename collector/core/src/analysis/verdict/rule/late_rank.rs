//! A rank that comes late to collectives by itself.

use super::Rule;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::straggler::significant::SignificantStraggler;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};
use crate::model::grade::Grade;

/// A late rank costs this share of the time before anybody need look at it.
const LEAST_SHARE: f64 = 0.01;

/// A late rank.
pub const RULE: Rule =
    Rule { reason: "All ranks of a ring wait for the one that comes last.", conclude };

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    evidence.lateness.stragglers.iter().map(|late| verdict(evidence, late)).collect()
}

fn verdict(evidence: &Evidence<'_>, late: &SignificantStraggler) -> Verdict {
    let SignificantStraggler { communicator, rank, .. } = *late;
    let subject = VerdictSubject {
        communicator: Some(communicator),
        rank: Some(rank),
        ..VerdictSubject::default()
    };
    let share = late.total_ns as f64 / evidence.costs.seen_ns.max(1) as f64;
    let severity = if share >= LEAST_SHARE { Severity::Warning } else { Severity::Info };
    let claim = VerdictClaim::Late(*late);
    // A rank that takes data slowly starts late, too.
    let class = if late.cause == Cause::Receiver { Class::SlowReceiver } else { Class::LateRank };
    let mut verdict = Verdict::new(class, severity, subject, claim);
    verdict.grade = Grade::Inferred;
    let receiving_ns = match class {
        Class::SlowReceiver => {
            evidence.costs.of(&[Cause::Receiver], |id, of| (id, of) == (communicator, rank))
        }
        _ => 0,
    };
    verdict = verdict.costing(late.total_ns.max(receiving_ns), evidence.costs.seen_ns);
    verdict.span = Some(late.span);
    verdict.alternative = may_receive_slowly(evidence, late).then_some(Class::SlowReceiver);
    let own = [Cause::Enqueue, Cause::Compute, Cause::Sender].map(Cause::name);
    let rests = evidence.named("straggler").filter(|(_, finding)| {
        finding.subject.rank == Some(rank)
            && finding.cause.is_some_and(|cause| own.contains(&cause))
    });
    for (at, finding) in rests {
        // It knows whether the CPU or the GPU was late.
        if verdict.rests_on.is_empty() && class == Class::LateRank {
            verdict.remedy = finding.remedy;
        }
        verdict.rests_on.push(at);
    }
    verdict
}

/// Whether the rank may take data slowly instead of calling NCCL late: it offers its first buffer late in
/// both cases, and no collective was long enough to show when it offers one again.
fn may_receive_slowly(evidence: &Evidence<'_>, late: &SignificantStraggler) -> bool {
    let of_communicator = evidence
        .facts
        .collectives
        .iter()
        .filter(|judged| judged.collective.communicator == late.communicator);
    let mut own = of_communicator.flat_map(|judged| &judged.own_times);
    late.cause == Cause::Enqueue
        && !own.any(|one| one.rank == late.rank && one.receiver_ns.is_some())
}
