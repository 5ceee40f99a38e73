//! RoCE data that switches cannot mark.

use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_port, by_sender};
use crate::analysis::finding::joined_flow::JoinedFlow;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Severity, naming};
use crate::flow::state::EcnCounts;
use crate::model::ecn::Ecn;
use crate::model::quantity::counted;

/// RoCE Not-ECT.
pub const KIND: Kind = Kind {
    id: "roce_not_ect",
    about: "RoCE data goes without the ECN-capable bits: switches cannot mark it, and drop or pause it \
            instead. Beside ECN-capable flows it takes the buffer from them.",
    threshold: "Most packets of a data flow are Not-ECT. Warning where other taps saw the same flow \
                ECN-capable (cleared on the path), where other flows of the capture are ECN-capable, or \
                where [expect] ecn = true. Info where no flow is: then nothing says that congestion \
                control was meant to be on (two hosts on a cable, soft-RoCE, a fabric that trusts PFC \
                alone).",
    remedy: "Set ECT where packets leave: NCCL_IB_TC (106 = DSCP 26, ECT(0)), cma_roce_tos, or `mlnx_qos` on the NIC. Cleared on the path: find the device that rewrites the \
             TOS byte (QoS policy, tunnel that does not copy ECN: RFC 6040).",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let data: Vec<&JoinedFlow> =
        facts.flows.iter().filter(|flow| flow.is_data() && flow.payload_bytes > 0).collect();
    let not_ect = |flow: &JoinedFlow| views(facts, flow).any(|ecn| !is_capable(ecn));
    let cleared = |flow: &JoinedFlow| not_ect(flow) && views(facts, flow).any(is_capable);
    let has_capable = data.iter().any(|flow| views(facts, flow).any(is_capable));
    let is_expected = facts.settings.expect.ecn == Some(true);
    let frames_if = |holds: bool, flow: &JoinedFlow| if holds { flow.frames } else { 0 };
    let mut found = Vec::new();
    for group in by_port(data.iter().copied(), |flow| frames_if(cleared(flow), flow)) {
        let text = "ECN-capable at one tap, Not-ECT at another";
        let what = "without ECN bits behind the tap that saw them ECN-capable";
        found.push(finding(facts, &group, Severity::Warning, "cleared_on_path", what, text));
    }
    let senders = |flow: &JoinedFlow| not_ect(flow) && !cleared(flow);
    if has_capable || is_expected {
        for group in by_sender(data.iter().copied(), |flow| frames_if(senders(flow), flow)) {
            let what = "with RoCE data that is Not-ECT";
            let text = if has_capable {
                "Not-ECT, while other flows are ECN-capable"
            } else {
                "Not-ECT, and [expect] says that it should be ECN-capable"
            };
            found.push(finding(facts, &group, Severity::Warning, "some_flows", what, text));
        }
    } else {
        let flows: Vec<_> =
            data.iter().filter(|flow| senders(flow)).map(|flow| (*flow, flow.frames)).collect();
        if !flows.is_empty() {
            let group = Group { port: None, flows };
            let what = "with RoCE data, all of it Not-ECT: switches cannot mark it";
            found.push(finding(facts, &group, Severity::Info, "all_flows", what, "Not-ECT"));
        }
    }
    found
}

fn views<'a>(facts: &Facts<'a>, flow: &JoinedFlow) -> impl Iterator<Item = &'a EcnCounts> {
    let table = facts.table();
    let views = flow.views.clone().into_iter().filter_map(|at| table.get(at as usize));
    views.map(|flow| &flow.ecn)
}

/// Most packets are ECN-capable, or marked.
fn is_capable(counts: &EcnCounts) -> bool {
    counts.of(Ecn::Ect0) + counts.of(Ecn::Ect1) + counts.of(Ecn::Ce) >= counts.of(Ecn::NotEct)
}

fn finding(
    facts: &Facts<'_>,
    group: &Group<'_>,
    severity: Severity,
    cause: &'static str,
    what: &str,
    text: &str,
) -> Finding {
    let place = match severity {
        Severity::Info => counted(group.flows.len() as u64, "flow"),
        _ => naming::group(group),
    };
    let mut finding = Finding::new(&KIND, severity, format!("{place} {what}"))
        .caused_by(cause)
        .about(group.subject())
        .over(group.span())
        .proven();
    finding.flows = group.places();
    let Some(worst) = group.worst() else { return finding };
    let text = format!("{}: {text}", naming::flow(worst));
    finding.because(Proof::frame(text, worst.first_frame(facts)))
}
