//! Packets overtake each other, and NICs that expect order ask for them again.

use super::loss::{lost_at, spans};
use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::path::place::{Located, Ways, locate};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim, grade_of};

/// What follows from packets out of order.
const FOLLOWS: &[&str] = &["reordering", "loss", "timeouts", "straggler"];

/// Of the packets that came late, this share may be lost ones: beyond that, it is loss.
const LOST_IN: u64 = 2;

/// Share of the time: reordering that costs less is harmless.
const LEAST_SHARE: f64 = 0.005;

/// Payload of a flow's average packet, in bytes, from which it carries data.
const LEAST_PAYLOAD: u64 = 256;

/// Packets come out of order.
pub const RULE: Rule = Rule {
    reason: "A packet that another overtakes looks missing to a NIC that expects order: it sends a \
             NAK, and the sender sends the window again, as after loss.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    if evidence.warnings("reordering").next().is_none() || evidence.are_sprayed {
        return Vec::new();
    }
    // Clear-to-sends and ACKs are too far apart to overtake each other.
    let is_data = |flow: &QueuePair| flow.payload_bytes / flow.frames.max(1) >= LEAST_PAYLOAD;
    let late = evidence.by_direction(|flow| is_data(flow).then_some((flow.late, flow.frames)));
    locate(&late, Ways::Own).iter().filter_map(|located| verdict(evidence, located)).collect()
}

fn verdict(evidence: &Evidence<'_>, located: &Located) -> Option<Verdict> {
    if lost_at(evidence, &located.directions) * LOST_IN > located.lost {
        return None;
    }
    let of_place = |finding: &Finding| {
        evidence.queue_pairs(finding).any(|pair| {
            located.place.includes((pair.source, pair.destination))
                || located.place.includes((pair.destination, pair.source))
        })
    };
    let subject = VerdictSubject::at(located.place);
    let claim = VerdictClaim::Reordered { late: located.lost, sent: located.sent };
    let mut verdict = Verdict::new(Class::Reordering, Severity::Warning, subject, claim);
    verdict.grade = grade_of(located);
    let rests = evidence.named("reordering").filter(|(_, finding)| of_place(finding));
    verdict.rests_on.extend(rests.map(|(at, _)| at));
    if verdict.rests_on.is_empty() {
        return None;
    }
    let cost_ns = evidence.costs.of(&[Cause::Loss], |_, _| true);
    verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    if verdict.cost_share.is_some_and(|share| share < LEAST_SHARE) {
        verdict.severity = Severity::Info;
    }
    verdict.span = spans(evidence, &verdict.rests_on);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        finding.id != "straggler" || finding.cause == Some(Cause::Loss.name())
    });
    Some(verdict)
}
