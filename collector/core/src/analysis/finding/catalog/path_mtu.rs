//! The path MTU is small, or not the same everywhere.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_port};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;

/// The path MTU of a port with Ethernet's default MTU of 1500.
const DEFAULT_MTU: u32 = 1024;
/// Line rate from which on small packets cost throughput.
const FAST_BPS: u64 = 100_000_000_000;

/// MTU mismatch, or 1024.
pub const KIND: Kind = Kind {
    id: "path_mtu",
    about: "RDMA messages are cut into packets of the path MTU. 1024 bytes usually means \
            that an interface still has Ethernet's default MTU of 1500. Compared with 4096 bytes, \
            that is four times the packets, a few percent less throughput, and more work for NIC \
            and switch. Different MTUs in one job mean that \
            an interface is misconfigured.",
    threshold: "Warning if flows of the same capture differ, if [expect] mtu is not met, or if it \
                is 1024 at 100 Gb/s or more. Info if it is 1024 everywhere at a lower or unknown \
                rate.",
    remedy: "Run `ip link set <netdev> mtu 4200` (or 9000) on all hosts and set all switch ports \
             on the path; `ibv_devinfo | grep active_mtu` must then say 4096.",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let known = facts.flows.iter().filter(|flow| flow.is_data() && mtu(facts, flow).is_some());
    let data: Vec<&QueuePair> = known.collect();
    let mut by_mtu: BTreeMap<u32, u64> = BTreeMap::new();
    for flow in &data {
        *by_mtu.entry(mtu(facts, flow).unwrap_or(0)).or_default() += 1;
    }
    let Some((&largest, _)) = by_mtu.last_key_value() else { return Vec::new() };
    let expected = facts.settings.expect.mtu;
    let wanted = expected.unwrap_or(largest);
    let is_small = |flow: &QueuePair| mtu(facts, flow).is_some_and(|mtu| mtu != wanted);
    let groups = by_port(data.iter().copied(), |flow| u64::from(is_small(flow)));
    if !groups.is_empty() {
        let cause = if expected.is_some() { "unexpected" } else { "flows_differ" };
        let found = groups.iter().filter_map(|group| {
            let own = mtu(facts, group.worst()?)?;
            let claim = TransportClaim::PathMtu {
                own,
                wanted,
                is_expected: expected.is_some(),
                flows: naming::group(group),
            };
            Some(finding(facts, group, Severity::Warning, cause, claim))
        });
        return found.collect();
    }
    if largest != DEFAULT_MTU || expected.is_some() {
        return Vec::new();
    }
    let rates = data.iter().filter_map(|flow| facts.line_rate_bps(flow.source));
    let is_fast = rates.max().is_some_and(|rate| rate >= FAST_BPS);
    let severity = if is_fast { Severity::Warning } else { Severity::Info };
    let claim = TransportClaim::SmallMtu { mtu: largest, flows: data.len() as u64 };
    let flows = data.iter().map(|flow| (*flow, flow.frames)).collect();
    vec![finding(facts, &Group { port: None, flows }, severity, "small", claim)]
}

/// Its path MTU; known only from messages of several packets.
fn mtu(facts: &Facts<'_>, flow: &QueuePair) -> Option<u32> {
    let views = flow.views.iter().filter_map(|at| facts.table().get(*at as usize));
    views.filter_map(|flow| flow.requester().messages.path_mtu()).max()
}

fn finding(
    facts: &Facts<'_>,
    group: &Group<'_>,
    severity: Severity,
    cause: &'static str,
    claim: TransportClaim,
) -> Finding {
    let mut finding = KIND
        .finding(severity, claim)
        .caused_by(cause)
        .about(group.subject())
        .over(group.span())
        .proven();
    finding.flows = group.places();
    let Some(worst) = group.worst() else { return finding };
    let mtu = FlowObservation::PathMtu(mtu(facts, worst).unwrap_or(0));
    finding.because(Proof::flow(worst, mtu, worst.first_frame(facts.state)))
}
