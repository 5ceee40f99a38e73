//! The two ends of a connection use different path MTUs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_known_ports};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::state::Flow;
use crate::model::witness::Witness;

/// Path MTUs that differ within a connection.
pub const KIND: Kind = Kind {
    id: "path_mtu_mismatch",
    about: "The two ends of a connection use different path MTUs. A responder rejects WRITEs and SENDs \
            that are not cut as it expects. A READ takes as many sequence numbers as its answer has \
            packets: if the two ends count differently, the next request has an old number, and the \
            connection stalls.",
    threshold: "Critical if a request takes a sequence number of an answered READ, or if requests are \
                rejected as invalid and the receiver's own packets have another size. Warning if \
                the packets of the two directions have different sizes. Sizes are those of packets \
                that are not the last of a message.",
    remedy: "Set the same path MTU at both ends: `ibv_devinfo | grep active_mtu` and `ip link show` on \
             both hosts, switch ports on the path, path_mtu in ibv_modify_qp (INIT to RTR) or the \
             connection manager's REQ. NCCL uses the smaller active_mtu of the two.",
    needs: &[Need::Roce],
    detect,
};

/// What a flow proves.
struct Mismatch {
    /// Path MTU of its sender.
    own: u32,
    /// Path MTU of its receiver.
    other: u32,
    shown_by: FlowObservation,
    severity: Severity,
    is_proven: bool,
    witness: Option<Witness>,
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let of_ports = path_mtus(facts);
    let mismatch = |flow: &QueuePair| mismatch(facts, &of_ports, flow);
    let found: BTreeMap<u32, Mismatch> =
        facts.flows.iter().filter_map(|flow| Some((flow.at, mismatch(flow)?))).collect();
    let mut ends: BTreeMap<IpAddr, (u64, u32)> = BTreeMap::new();
    for (flow, one) in facts.flows.iter().filter_map(|flow| Some((flow, found.get(&flow.at)?))) {
        for (port, mtu) in [(flow.source, one.own), (flow.destination, one.other)] {
            ends.entry(port).or_insert((0, mtu)).0 += 1;
        }
    }
    // A port that disagrees on several flows is the odd one; of two ends, the one with the smaller path
    // MTU: an interface that still has its default.
    ends.retain(|_, (flows, _)| *flows > 1);
    let mut ports: Vec<(IpAddr, (u64, u32))> = ends.into_iter().collect();
    ports.sort_by_key(|(_, (flows, mtu))| (Reverse(*flows), *mtu));
    let ports: Vec<IpAddr> = ports.into_iter().map(|(port, _)| port).collect();
    let is_one = |flow: &QueuePair| u64::from(found.contains_key(&flow.at));
    let groups = by_known_ports(&ports, facts.flows, is_one).into_iter();
    groups.filter_map(|group| finding(&about_the_smaller(group, &found), &found)).collect()
}

/// A group of one flow is about the end with the smaller path MTU, too.
fn about_the_smaller<'a>(mut group: Group<'a>, found: &BTreeMap<u32, Mismatch>) -> Group<'a> {
    if let [(flow, _)] = group.flows[..]
        && let Some(one) = found.get(&flow.at)
    {
        let smaller = if one.own < one.other { flow.source } else { flow.destination };
        group.port = Some((smaller, None));
    }
    group
}

/// The path MTU of each port's requests and READ responses; 0 if they have several.
fn path_mtus(facts: &Facts<'_>) -> BTreeMap<IpAddr, u32> {
    let mut of_ports: BTreeMap<IpAddr, u32> = BTreeMap::new();
    for flow in facts.table() {
        let Some(mtu) = flow.full_packets.path_mtu() else { continue };
        let known = of_ports.entry(flow.key.source.to_ip()).or_insert(mtu);
        *known = if *known == mtu { mtu } else { 0 };
    }
    of_ports
}

/// What the packets of `flow` and their answers prove; `None` without a mismatch.
fn mismatch(
    facts: &Facts<'_>,
    of_ports: &BTreeMap<IpAddr, u32>,
    flow: &QueuePair,
) -> Option<Mismatch> {
    let views = || flow.views.iter().filter_map(|at| facts.table().get(*at as usize));
    views()
        .find_map(|view| by_read(facts, view))
        .or_else(|| by_refusal(facts, of_ports, flow))
        .or_else(|| views().find_map(|view| by_sizes(facts, view)))
}

fn by_read(facts: &Facts<'_>, flow: &Flow) -> Option<Mismatch> {
    let read = flow.miscounted_read()?;
    Some(Mismatch {
        own: read.counted_by,
        other: read.packet_bytes,
        shown_by: FlowObservation::MiscountedRead(*read),
        severity: Severity::Critical,
        is_proven: true,
        witness: Some(facts.frame(flow.key.tap, read.overlap.frame, read.overlap.time)),
    })
}

/// Requests were rejected as invalid, and every full packet of the receiver has another size.
fn by_refusal(
    facts: &Facts<'_>,
    of_ports: &BTreeMap<IpAddr, u32>,
    flow: &QueuePair,
) -> Option<Mismatch> {
    if flow.naks.invalid_request == 0 {
        return None;
    }
    let view = facts.table().get(flow.at as usize)?;
    let own = view.full_packets.path_mtu()?;
    let other = *of_ports.get(&flow.destination).filter(|other| **other != 0 && **other != own)?;
    Some(Mismatch {
        own,
        other,
        shown_by: FlowObservation::RejectedSize { own, other },
        severity: Severity::Critical,
        is_proven: false,
        witness: flow.first_frame(facts.state),
    })
}

/// The two directions of one queue pair have packets of different sizes; the larger ones count.
fn by_sizes(facts: &Facts<'_>, flow: &Flow) -> Option<Mismatch> {
    let reverse = flow.reverse.filter(|_| flow.has_proven_reverse())?;
    let back = facts.table().get(reverse.flow as usize)?;
    let (own, other) = (flow.full_packets.path_mtu()?, back.full_packets.path_mtu()?);
    (own > other).then(|| Mismatch {
        own,
        other,
        shown_by: FlowObservation::PacketSizes { own, other },
        severity: Severity::Warning,
        is_proven: true,
        witness: Some(facts.frame(flow.key.tap, flow.first_frame, flow.span.first)),
    })
}

fn finding(group: &Group<'_>, found: &BTreeMap<u32, Mismatch>) -> Option<Finding> {
    let of_group =
        || group.flows.iter().filter_map(|(flow, _)| Some((*flow, found.get(&flow.at)?)));
    let (worst, mismatch) =
        of_group().max_by_key(|(flow, one)| (one.severity, Reverse(flow.at)))?;
    // The named port comes first; without one, the sender.
    let is_receiver = group.port.is_some_and(|(port, _)| port == worst.destination);
    let (here, there) = match is_receiver && group.flows.len() > 1 {
        true => (mismatch.other, mismatch.own),
        false => (mismatch.own, mismatch.other),
    };
    let flows = naming::group(group);
    let claim = TransportClaim::PathMtuMismatch { here, there, flows };
    let mut finding =
        KIND.finding(mismatch.severity, claim).about(group.subject()).over(group.span());
    finding.flows = group.places();
    if mismatch.is_proven {
        finding = finding.proven();
    }
    let shown_by = mismatch.shown_by.clone();
    Some(finding.because(Proof::flow(worst, shown_by, mismatch.witness)))
}
