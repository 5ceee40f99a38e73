//! Queues in the fabric: marked packets, senders that are asked to slow down.

use super::loss::spans;
use super::{Rule, explain};
use crate::analysis::path::place::{Located, locate};
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim, grade_of};

/// What follows from queues.
const FOLLOWS: &[&str] = &["congestion", "straggler", "ce_without_cnp", "cnp_without_reaction"];

/// Congestion.
pub const RULE: Rule = Rule {
    reason: "Packets that wait in a queue arrive late, and their senders are slowed down: the ranks \
             behind them are victims.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    if evidence.warnings("congestion").next().is_none() {
        return Vec::new();
    }
    let marks = evidence.by_direction(|flow| {
        (!flow.hides_marks).then(|| (flow.marks.0, flow.marks.1.max(flow.frames)))
    });
    let located = locate(&marks, evidence.ways());
    located.first().and_then(|located| verdict(evidence, located)).into_iter().collect()
}

fn verdict(evidence: &Evidence<'_>, located: &Located) -> Option<Verdict> {
    let subject = VerdictSubject::at(located.place);
    let claim = VerdictClaim::Marked { marked: located.lost, sent: located.sent };
    let mut verdict = Verdict::new(Class::Congestion, Severity::Warning, subject, claim);
    verdict.grade = grade_of(located);
    verdict.rests_on = evidence.named("congestion").map(|(at, _)| at).collect();
    let cost_ns = evidence.costs.of(&[Cause::Congestion], |_, _| true);
    verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    verdict.span = spans(evidence, &verdict.rests_on);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        finding.id != "straggler" || finding.cause == Some(Cause::Congestion.name())
    });
    Some(verdict)
}
