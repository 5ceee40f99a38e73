//! Packets came out of order.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_port;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::{LATE_A_RESEND, QueuePair};
use crate::analysis::severity::Severity;

/// Reordering.
pub const KIND: Kind = Kind {
    id: "reordering",
    about: "Packets arrived out of order. NICs with adaptive routing expect that; any other RoCE \
            receiver takes it for loss and sends a NAK, and the sender goes back and retransmits.",
    threshold: "Any packet that arrives after one sent later. Warning if more than one of 20 is \
                followed by a retransmission (our choice), info if not (adaptive routing, packet \
                spraying).",
    remedy: "Keep a queue pair on one path (ECMP by flow, no per-packet load balancing, LAG \
             hashing on layer 4), or turn on adaptive routing on both NICs and switches \
             (NCCL_IB_ADAPTIVE_ROUTING).",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let found = by_port(facts.flows, |flow| flow.late).into_iter().map(|group| {
        let resent = group.total(|flow| flow.resent);
        let (late, flows) = (group.sum(), naming::group(&group));
        let is_asked_again = LATE_A_RESEND.saturating_mul(resent) > late;
        let severity = if is_asked_again { Severity::Warning } else { Severity::Info };
        let claim = TransportClaim::Reordered { late, flows };
        let mut finding = KIND.finding(severity, claim).about(group.subject()).over(group.span());
        finding.flows = group.places();
        let Some(worst) = group.worst() else { return finding };
        let QueuePair { late, resent, .. } = *worst;
        let overtaken = FlowObservation::Overtaken { late, resent };
        finding.because(Proof::flow(worst, overtaken, worst.first_late(facts.state)))
    });
    found.collect()
}
