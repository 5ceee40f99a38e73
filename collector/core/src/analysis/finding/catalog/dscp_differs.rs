//! Data of one job in several traffic classes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::finding::claim::congestion::CongestionClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{by_port, by_sender};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::state::Flow;
use crate::link::job::CommunicatorId;

/// DSCP differing between ranks.
pub const KIND: Kind = Kind {
    id: "dscp_differs",
    about: "The data of one job uses several traffic classes: some ranks' packets are outside the \
            lossless queue, get no ECN marks, or are paused along with other traffic.",
    threshold: "The most common DSCP of a port's data is not that of most ports of the \
                communicator, not that at another tap of the same flow, or not [expect] dscp.",
    remedy: "Use the same NCCL_IB_TC (and NCCL_IB_SL) on all ranks, the same `mlnx_qos` trust mode \
             on all NICs, the same DSCP map on all switches. If it is rewritten on the path, find \
             the QoS policy that does it.",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let data: Vec<&QueuePair> =
        facts.flows.iter().filter(|flow| flow.is_data() && flow.payload_bytes > 0).collect();
    let mut found = rewritten(facts, &data);
    match facts.settings.expect.dscp {
        Some(expected) => found.extend(odd(facts, &data, "unexpected", &|_| Some(expected))),
        None => {
            let usual = usual(facts, &data);
            let of = |flow: &QueuePair| usual.get(&communicator(flow)).copied();
            found.extend(odd(facts, &data, "ranks_differ", &of));
        }
    }
    found
}

fn communicator(flow: &QueuePair) -> Option<CommunicatorId> {
    flow.owner.map(|owner| owner.communicator)
}

/// The most common DSCP of a view.
fn dscp(flow: &Flow) -> Option<u8> {
    let tally = flow.headers.dscp();
    let most = tally.iter().max_by_key(|(dscp, packets)| (*packets, std::cmp::Reverse(*dscp)))?;
    Some(most.0.value())
}

/// The most common DSCP, at the tap nearest to the sender.
fn own_dscp(facts: &Facts<'_>, flow: &QueuePair) -> Option<u8> {
    dscp(facts.table().get(flow.at as usize)?)
}

/// The DSCP that most ports of a communicator send with; at equal counts the greatest.
fn usual(facts: &Facts<'_>, data: &[&QueuePair]) -> BTreeMap<Option<CommunicatorId>, u8> {
    let mut ports: BTreeMap<_, BTreeMap<u8, BTreeSet<IpAddr>>> = BTreeMap::new();
    for flow in data {
        let Some(dscp) = own_dscp(facts, flow) else { continue };
        let of = ports.entry(communicator(flow)).or_default();
        of.entry(dscp).or_default().insert(flow.source);
    }
    let most = |by_dscp: BTreeMap<u8, BTreeSet<IpAddr>>| {
        let most = by_dscp.into_iter().max_by_key(|(dscp, ports)| (ports.len(), *dscp));
        most.map(|(dscp, _)| dscp)
    };
    ports.into_iter().filter_map(|(id, by_dscp)| Some((id, most(by_dscp)?))).collect()
}

/// Flows with an unexpected DSCP.
fn odd(
    facts: &Facts<'_>,
    data: &[&QueuePair],
    cause: &'static str,
    expected: &dyn Fn(&QueuePair) -> Option<u8>,
) -> Vec<Finding> {
    let is_odd = |flow: &QueuePair| {
        let (own, expected) = (own_dscp(facts, flow), expected(flow));
        own.is_some() && expected.is_some() && own != expected
    };
    let groups = by_sender(data.iter().copied(), |flow| if is_odd(flow) { flow.frames } else { 0 });
    let found = groups.iter().filter_map(|group| {
        let worst = group.worst()?;
        let (own, wanted) = (own_dscp(facts, worst)?, expected(worst)?);
        let claim = CongestionClaim::WrongDscp {
            own,
            wanted,
            is_expected: facts.settings.expect.dscp.is_some(),
            flows: naming::group(group),
        };
        let mut finding = KIND
            .finding(Severity::Warning, claim)
            .caused_by(cause)
            .about(group.subject())
            .over(group.span())
            .proven();
        finding.flows = group.places();
        let dscp = FlowObservation::Dscps(vec![own]);
        Some(finding.because(Proof::flow(worst, dscp, worst.first_frame(facts.state))))
    });
    found.collect()
}

/// Flows that have another DSCP at another tap.
fn rewritten(facts: &Facts<'_>, data: &[&QueuePair]) -> Vec<Finding> {
    let seen = |flow: &QueuePair| -> BTreeSet<u8> {
        let views = flow.views.iter().filter_map(|at| facts.table().get(*at as usize));
        views.filter_map(dscp).collect()
    };
    let groups =
        by_port(data.iter().copied(), |flow| if seen(flow).len() > 1 { flow.frames } else { 0 });
    let found = groups.iter().filter_map(|group| {
        let worst = group.worst()?;
        let seen: Vec<u8> = seen(worst).into_iter().collect();
        let flows = naming::group(group);
        let claim = CongestionClaim::DscpRewritten { seen: seen.clone(), flows };
        let mut finding = KIND
            .finding(Severity::Warning, claim)
            .caused_by("rewritten_on_path")
            .about(group.subject())
            .over(group.span())
            .proven();
        finding.flows = group.places();
        let dscps = FlowObservation::Dscps(seen);
        Some(finding.because(Proof::flow(worst, dscps, worst.first_frame(facts.state))))
    });
    found.collect()
}
