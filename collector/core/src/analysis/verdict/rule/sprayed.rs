//! Packets are sprayed over paths, and NICs place them out of order: reordering is how such a fabric
//! works.

use super::Rule;
use crate::analysis::finding::Finding;
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};

/// Sprayed packets.
pub const RULE: Rule = Rule {
    reason: "Where NICs place packets out of order, no NIC sends a NAK for a late one, and nothing is \
             sent again: gaps at first sight are no loss.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    if !evidence.are_sprayed {
        return Vec::new();
    }
    let sum = |of: fn(&QueuePair) -> u64| evidence.facts.flows.iter().map(of).sum();
    // Late packets side by side look like resends until IP identifications tell them apart.
    let again = |flow: &QueuePair| if flow.is_placed_out_of_order() { 0 } else { flow.resent };
    let claim = VerdictClaim::Sprayed {
        late: sum(|flow| flow.late),
        sent: sum(|flow| flow.frames),
        resent: sum(again),
    };
    let subject = VerdictSubject::default();
    let mut verdict = Verdict::new(Class::PathsSprayed, Severity::Info, subject, claim);
    let unclear = evidence.named("loss").filter(|(_, finding)| may_be_order(finding));
    let shows = evidence.named("reordering").chain(unclear);
    verdict.rests_on = shows.map(|(at, _)| at).collect();
    vec![verdict]
}

/// Whether nothing tells the gaps that a finding is about from late packets.
pub(super) fn may_be_order(finding: &Finding) -> bool {
    finding.cause == Some("loss_or_reordering")
}
