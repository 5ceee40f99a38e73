//! Packets are sprayed over paths, and NICs place them out of order: reordering is how such a fabric
//! works.

use super::Rule;
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};

/// Of the packets of all data, this share comes late at least: single overtakings are no design.
const LEAST_LATE: f64 = 0.01;

/// At least one of so many late packets makes a NIC ask again where it expects order.
const LATE_A_RESEND: u64 = 20;

/// Sprayed packets.
pub const RULE: Rule = Rule {
    reason: "Where NICs place packets out of order, no NIC sends a NAK for a late one, and nothing is \
             sent again: gaps at first sight are no loss.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    if !is_sprayed(evidence) {
        return Vec::new();
    }
    let late = evidence.facts.flows.iter().map(|flow| flow.late).sum();
    let sent = evidence.facts.flows.iter().map(|flow| flow.frames).sum();
    let claim = VerdictClaim::Reordered { late, sent };
    let subject = VerdictSubject::default();
    let mut verdict = Verdict::new(Class::PathsSprayed, Severity::Info, subject, claim);
    let ids = ["reordering", "loss"];
    let shows = ids.iter().flat_map(|id| evidence.named(id).map(|(at, _)| at));
    verdict.rests_on = if evidence.lost.is_empty() {
        shows.collect()
    } else {
        evidence.named("reordering").map(|(at, _)| at).collect()
    };
    vec![verdict]
}

/// Whether most data comes out of order, and hardly any NIC asks for it again.
pub(super) fn is_sprayed(evidence: &Evidence<'_>) -> bool {
    let carries_data = |flow: &&QueuePair| flow.has_requests && flow.is_data();
    let data = || evidence.facts.flows.iter().filter(carries_data);
    let sum = |of: fn(&QueuePair) -> u64| data().map(of).sum::<u64>();
    let (late, frames) = (sum(|flow| flow.late), sum(|flow| flow.frames));
    let disturbed = data().filter(|flow| flow.late > 0).count();
    late as f64 > LEAST_LATE * frames as f64
        && 2 * disturbed >= data().count()
        && LATE_A_RESEND * (sum(|flow| flow.resent) + sum(|flow| flow.sequence_naks)) <= late
}
