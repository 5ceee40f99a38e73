//! RoCE data that switches cannot mark.

use crate::analysis::finding::claim::congestion::CongestionClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_port, by_sender};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{EcnContrast, FlowObservation};
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::state::{EcnCounts, Flow};
use crate::model::ecn::Ecn;

/// RoCE Not-ECT.
pub const KIND: Kind = Kind {
    id: "roce_not_ect",
    about: "RoCE data is sent without the ECN-capable bits. Switches cannot mark it; they drop or \
            pause it instead. It takes buffer from ECN-capable flows on the same port.",
    threshold: "Most packets of a data flow are Not-ECT. Warning if another tap saw the same flow \
                ECN-capable (cleared on the path), if other flows of the capture are ECN-capable, \
                or if [expect] ecn = true. Info if no flow is ECN-capable: congestion control may \
                be off on purpose (two hosts on a cable, soft-RoCE, a fabric that relies on PFC \
                alone).",
    remedy: "Set ECT at the sender: NCCL_IB_TC (106 = DSCP 26, ECT(0)), cma_roce_tos, or \
             `mlnx_qos` on the NIC. If it is cleared on the path, find the device that rewrites \
             the TOS byte (QoS policy, a tunnel that does not copy ECN: RFC 6040).",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let has_udp = |flow: &QueuePair| facts.table().get(flow.at as usize).is_some_and(Flow::has_udp);
    let is_concerned =
        |flow: &&QueuePair| flow.is_data() && flow.payload_bytes > 0 && has_udp(flow);
    let data: Vec<&QueuePair> = facts.flows.iter().filter(is_concerned).collect();
    let not_ect = |flow: &QueuePair| views(facts, flow).any(|ecn| !is_capable(ecn));
    let cleared = |flow: &QueuePair| not_ect(flow) && views(facts, flow).any(is_capable);
    let has_capable = data.iter().any(|flow| views(facts, flow).any(is_capable));
    let is_expected = facts.settings.expect.ecn == Some(true);
    let frames_if = |holds: bool, flow: &QueuePair| if holds { flow.frames } else { 0 };
    let mut found = Vec::new();
    for group in by_port(data.iter().copied(), |flow| frames_if(cleared(flow), flow)) {
        let claim = CongestionClaim::EcnCleared { flows: naming::group(&group) };
        let finding = KIND.finding(Severity::Warning, claim).caused_by("cleared_on_path");
        found.push(complete(facts, finding, &group, EcnContrast::OtherTap));
    }
    let senders = |flow: &QueuePair| not_ect(flow) && !cleared(flow);
    if has_capable || is_expected {
        for group in by_sender(data.iter().copied(), |flow| frames_if(senders(flow), flow)) {
            let claim = CongestionClaim::NotEct { flows: naming::group(&group) };
            let contrast =
                if has_capable { EcnContrast::OtherFlows } else { EcnContrast::Expected };
            let finding = KIND.finding(Severity::Warning, claim).caused_by("some_flows");
            found.push(complete(facts, finding, &group, contrast));
        }
    } else {
        let flows: Vec<_> =
            data.iter().filter(|flow| senders(flow)).map(|flow| (*flow, flow.frames)).collect();
        if !flows.is_empty() {
            let claim = CongestionClaim::NothingEct { flows: flows.len() as u64 };
            let group = Group { port: None, flows };
            let finding = KIND.finding(Severity::Info, claim).caused_by("all_flows");
            found.push(complete(facts, finding, &group, EcnContrast::Nothing));
        }
    }
    found
}

fn views<'a>(facts: &Facts<'a>, flow: &QueuePair) -> impl Iterator<Item = &'a EcnCounts> {
    let table = facts.table();
    let views = flow.views.clone().into_iter().filter_map(|at| table.get(at as usize));
    views.map(|flow| &flow.ecn)
}

/// Most packets are ECN-capable, or marked.
fn is_capable(counts: &EcnCounts) -> bool {
    counts.count(Ecn::Ect0) + counts.count(Ecn::Ect1) + counts.count(Ecn::Ce)
        >= counts.count(Ecn::NotEct)
}

/// The same about `group`, with its worst flow as evidence.
fn complete(
    facts: &Facts<'_>,
    finding: Finding,
    group: &Group<'_>,
    contrast: EcnContrast,
) -> Finding {
    let mut finding = finding.about(group.subject()).over(group.span()).proven();
    finding.flows = group.places();
    let Some(worst) = group.worst() else { return finding };
    let not_ect = FlowObservation::NotEct(contrast);
    finding.because(Proof::flow(worst, not_ect, worst.first_frame(facts.state)))
}
