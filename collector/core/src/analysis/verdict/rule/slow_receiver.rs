//! A rank that takes data slowly.

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};

/// Of the time seen: a receiver that costs less is mentioned, no warning.
const LEAST_SHARE: f64 = 0.02;

/// A slow receiver.
pub const RULE: Rule = Rule {
    reason: "A rank that offers room late holds up the ranks before it, which look slow on their way \
             to it.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let is_slow = |finding: &Finding| finding.cause == Some(Cause::Receiver.name());
    let seen = evidence.warnings("straggler").filter(|(_, finding)| is_slow(finding));
    seen.filter_map(|(at, finding)| verdict(evidence, at, finding)).collect()
}

fn verdict(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Option<Verdict> {
    let (communicator, rank) = finding.subject.communicator.zip(finding.subject.rank)?;
    let subject = VerdictSubject {
        communicator: Some(communicator),
        rank: Some(rank),
        port: finding.subject.port,
        ..VerdictSubject::default()
    };
    let collectives = evidence.facts.collectives.iter().filter(|judged| {
        judged
            .straggler
            .as_ref()
            .is_some_and(|one| one.rank == rank && one.cause == Cause::Receiver)
    });
    let claim = VerdictClaim::SlowReceiver { collectives: collectives.count() as u64 };
    let mut verdict = Verdict::new(Class::SlowReceiver, Severity::Warning, subject, claim);
    verdict.grade = finding.grade;
    verdict.rests_on = vec![at];
    let cost_ns = evidence.costs.of(&[Cause::Receiver], |id, of| (id, of) == (communicator, rank));
    verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    if verdict.cost_share.is_some_and(|share| share < LEAST_SHARE) {
        verdict.severity = Severity::Info;
    }
    verdict.span = finding.span;
    explain(evidence, &mut verdict, &["slow_path"], |_| true);
    Some(verdict)
}
