//! Data of one job in several traffic classes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::finding::claim::congestion::{CongestionClaim, DscpUse};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{by_port, by_sender};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::state::Flow;
use crate::link::job::CommunicatorId;
use crate::model::time::Span;

/// DSCP differing between ranks.
pub const KIND: Kind = Kind {
    id: "dscp_differs",
    about: "The data of one job uses several traffic classes. Which of them is lossless, marked and \
            paused is up to the switches: a class that they do not expect may be dropped, get no \
            ECN marks, or be paused along with other traffic. If the switches treat all of them \
            alike, nothing is wrong.",
    threshold: "Info if the most common DSCP differs between ports of a communicator: packets do \
                not show which one is right. Warning if it is not [expect] dscp, or if two taps of \
                the same flow see different ones.",
    remedy: "If this is not on purpose: use the same NCCL_IB_TC (and NCCL_IB_SL) on all ranks, the \
             same `mlnx_qos` trust mode on all NICs, the same DSCP map on all switches. [expect] \
             dscp says which one is right. If it is rewritten on the path, find the QoS policy that \
             does it.",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let data: Vec<&QueuePair> =
        facts.flows.iter().filter(|flow| flow.is_data() && flow.payload_bytes > 0).collect();
    let mut found = rewritten(facts, &data);
    match facts.settings.expect.dscp {
        Some(expected) => found.extend(unexpected(facts, &data, expected)),
        None => found.extend(different(facts, &data)),
    }
    found
}

fn communicator(flow: &QueuePair) -> Option<CommunicatorId> {
    flow.owner.map(|owner| owner.communicator)
}

/// The most common DSCP of a view.
fn dscp(flow: &Flow) -> Option<u8> {
    let tally = flow.headers.dscp();
    let most = tally.iter().max_by_key(|(dscp, packets)| (*packets, Reverse(*dscp)))?;
    Some(most.0.value())
}

/// The most common DSCP, at the tap nearest to the sender.
fn own_dscp(facts: &Facts<'_>, flow: &QueuePair) -> Option<u8> {
    dscp(facts.table().get(flow.at as usize)?)
}

/// Communicators whose ports send with several DSCPs.
fn different(facts: &Facts<'_>, data: &[&QueuePair]) -> Vec<Finding> {
    let mut by_communicator: BTreeMap<_, BTreeMap<u8, Vec<&QueuePair>>> = BTreeMap::new();
    for flow in data {
        let Some(dscp) = own_dscp(facts, flow) else { continue };
        let of = by_communicator.entry(communicator(flow)).or_default();
        of.entry(dscp).or_default().push(*flow);
    }
    by_communicator.into_iter().filter_map(|(id, of)| differing(facts, id, of)).collect()
}

/// The classes of one communicator, if there are several.
fn differing(
    facts: &Facts<'_>,
    communicator: Option<CommunicatorId>,
    by_dscp: BTreeMap<u8, Vec<&QueuePair>>,
) -> Option<Finding> {
    let mut classes: Vec<(DscpUse, Vec<&QueuePair>)> =
        by_dscp.into_iter().map(|(dscp, flows)| (dscp_use(dscp, &flows), flows)).collect();
    classes.sort_by_key(|(class, _)| (Reverse(class.ports.len()), Reverse(class.dscp)));
    let (_, rest) = classes.split_first()?;
    let rare: Vec<&QueuePair> = rest.iter().flat_map(|(_, flows)| flows.iter().copied()).collect();
    let worst = rare.first()?;
    let usual = classes.first().map(|(class, _)| class.ports.len())?;
    // One port unlike all others is what the finding is about.
    let odd = match rest {
        [(DscpUse { ports, .. }, _)] if usual > 1 => match ports[..] {
            [(port, rank)] => Some((port, rank)),
            _ => None,
        },
        _ => None,
    };
    let subject = Subject {
        communicator,
        rank: odd.and_then(|(_, rank)| rank),
        port: odd.map(|(port, _)| port),
        ..Subject::default()
    };
    let dscp = FlowObservation::Dscps(own_dscp(facts, worst).into_iter().collect());
    let proof = Proof::flow(worst, dscp, worst.first_frame(facts.state));
    let flows = rare.iter().map(|flow| flow.at).collect();
    let spans = || rare.iter().map(|flow| flow.span);
    let first = spans().map(|span| span.first).min()?;
    let last = spans().map(|span| span.last).max()?;
    let claim = CongestionClaim::DscpsDiffer(classes.into_iter().map(|(class, _)| class).collect());
    let mut finding = KIND
        .finding(Severity::Info, claim)
        .caused_by("ranks_differ")
        .about(subject)
        .over(Some(Span { first, last }))
        .proven()
        .because(proof);
    finding.flows = flows;
    Some(finding)
}

/// Who sends `flows`, which have this DSCP.
fn dscp_use(dscp: u8, flows: &[&QueuePair]) -> DscpUse {
    let sender = |flow: &&QueuePair| (flow.source, flow.owner.and_then(|owner| owner.sender));
    let ports: BTreeSet<(IpAddr, Option<u32>)> = flows.iter().map(sender).collect();
    DscpUse { dscp, ports: ports.into_iter().collect() }
}

/// Flows without the expected DSCP.
fn unexpected(facts: &Facts<'_>, data: &[&QueuePair], wanted: u8) -> Vec<Finding> {
    let is_odd = |flow: &QueuePair| own_dscp(facts, flow).is_some_and(|own| own != wanted);
    let groups = by_sender(data.iter().copied(), |flow| if is_odd(flow) { flow.frames } else { 0 });
    let found = groups.iter().filter_map(|group| {
        let worst = group.worst()?;
        let own = own_dscp(facts, worst)?;
        let claim = CongestionClaim::WrongDscp { own, wanted, flows: naming::group(group) };
        let mut finding = KIND
            .finding(Severity::Warning, claim)
            .caused_by("unexpected")
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
