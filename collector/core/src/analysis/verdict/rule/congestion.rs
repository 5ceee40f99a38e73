//! Queues in the fabric: marked packets, senders that are asked to slow down.

use super::loss::spans;
use super::{Rule, explain};
use crate::analysis::path::place::{Located, locate};
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Verdict, VerdictClaim, grade_of};

/// What follows from queues.
const FOLLOWS: &[&str] = &["congestion", "straggler", "ce_without_cnp", "cnp_without_reaction"];

/// Share of marked packets from which on a way is congested all the time.
const HEAVY: f64 = 0.2;

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
    let slowed_ns = evidence.costs.of(&[Cause::Congestion], |_, _| true);
    let held_up_ns = if is_heavy(&verdict) { held_up_ns(evidence, subject) } else { 0 };
    verdict = verdict.costing(slowed_ns.max(held_up_ns), evidence.costs.seen_ns);
    verdict.span = spans(evidence, &verdict.rests_on);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        finding.id != "straggler" || finding.cause == Some(Cause::Congestion.name())
    });
    Some(verdict)
}

/// Whether so many packets are marked that their senders are slowed down all the time: then hardly any time without
/// marks shows what they cost.
pub fn is_heavy(verdict: &Verdict) -> bool {
    match verdict.claim {
        VerdictClaim::Marked { marked, sent } => marked as f64 >= HEAVY * sent as f64,
        _ => false,
    }
}

/// What waiting for data on its way to a port cost.
fn held_up_ns(evidence: &Evidence<'_>, subject: VerdictSubject) -> u64 {
    let port = subject.port.filter(|_| subject.heading != Some(Heading::From));
    evidence.costs.of_room(|id, rank| {
        port.is_some_and(|port| evidence.rank_ports.ports_of(id, rank).contains(&port))
    })
}
