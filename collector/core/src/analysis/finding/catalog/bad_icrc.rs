//! Invariant CRCs do not fit their packets.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_port;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::severity::Severity;

/// Wrong ICRCs.
pub const KIND: Kind = Kind {
    id: "bad_icrc",
    about: "The invariant CRC (ICRC) of frames is wrong: something on the path changed bytes that \
            must not change, or the frames were captured before the NIC computed it.",
    threshold: "Any frame captured in full length with a wrong ICRC (IBTA volume 1, section \
                7.8.1). Info: frames captured on the sending host may not have their ICRC yet.",
    remedy: "Capture at the receiver or on a mirror port. If it is still wrong, a device on the \
             path rewrites RoCE headers or payload: check rx_icrc_encapsulated on the receiving \
             NIC.",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let found = by_port(facts.flows, |flow| flow.icrc.0).into_iter().map(|group| {
        let claim = TransportClaim::WrongIcrc {
            wrong: group.sum(),
            checked: group.total(|flow| flow.icrc.1),
            flows: naming::group(&group),
        };
        let mut finding =
            KIND.finding(Severity::Info, claim).about(group.subject()).over(group.span());
        finding.flows = group.places();
        let Some(worst) = group.worst() else { return finding };
        let wrong = FlowObservation::WrongIcrcs(worst.icrc.0);
        finding.because(Proof::flow(worst, wrong, worst.first_frame(facts.state)))
    });
    found.collect()
}
