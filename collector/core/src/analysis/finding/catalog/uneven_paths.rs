//! Load lies on few of several parallel paths.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::finding::claim::pace::{Load, PaceClaim};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{FlowObservation, FrameObservation};
use crate::analysis::finding::uplink::{passes, uplinks};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::link::rail::Rails;
use crate::model::tap::TapId;

/// Rail or uplink imbalance.
pub const KIND: Kind = Kind {
    id: "uneven_paths",
    about: "Parallel paths (rails of NICs, uplinks of a switch) carry very different loads: the \
            busiest one sets the pace while others are idle. On uplinks the usual cause is ECMP \
            putting several large flows on one link: RoCE has few flows, and few UDP source ports \
            to hash on.",
    threshold: "Jain's fairness index of the bytes is below 0.8 (jain_index; 1 is even, 1/n is all \
                on one of n). Rails: warning. Uplinks (taps whose interface is named \
                `<switch>:uplink<n>` or similar): warning if flows on the busiest one have CE \
                marks, CNPs or loss, otherwise info: few flows never spread evenly.",
    remedy: "Uplinks: more entropy (NCCL_IB_QPS_PER_CONNECTION=4, NCCL_IB_SPLIT_DATA_ON_QPS=1), \
             adaptive routing or dynamic load balancing on the switches. Rails: check that \
             NCCL_IB_HCA lists all NICs, NCCL_CROSS_NIC, and the PCIe topology that NCCL sees \
             (NCCL_TOPO_DUMP_FILE).",
    needs: &[Need::ParallelPaths],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    rails(facts)
        .into_iter()
        .chain(uplinks(facts.state).iter().filter_map(|of| on_uplinks(facts, of)))
        .collect()
}

/// Jain's index: 1 if all are equal, 1/n if one has everything (Jain, Chiu and Hawe, 1984).
fn jain(loads: &[u64]) -> f64 {
    let sum: f64 = loads.iter().map(|load| *load as f64).sum();
    let squares: f64 = loads.iter().map(|load| (*load as f64).powi(2)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (loads.len() as f64 * squares) }
}

fn rails(facts: &Facts<'_>) -> Option<Finding> {
    let flows = facts.flows.iter().filter(|flow| flow.is_data());
    let sent = flows.map(|flow| (flow.source, flow.payload_bytes));
    let by_rail = loads_of_rails(sent, &facts.state.rails);
    let loads: Vec<u64> = by_rail.values().copied().collect();
    let jain_index = jain(&loads);
    if loads.len() < 2 || jain_index >= facts.settings.findings.jain_index {
        return None;
    }
    let (rail, most) =
        by_rail.iter().max_by_key(|(rail, load)| (**load, std::cmp::Reverse(**rail)))?;
    let claim = PaceClaim::UnevenRails {
        rail: *rail,
        load: Load {
            bytes: *most,
            of_bytes: loads.iter().sum(),
            paths: loads.len() as u64,
            jain_index,
        },
    };
    let rails =
        FrameObservation::Rails(by_rail.iter().map(|(rail, load)| (*rail, *load)).collect());
    Some(
        KIND.finding(Severity::Warning, claim)
            .caused_by("rails")
            .over(facts.span())
            .because(Proof::frames(rails, None)),
    )
}

/// Bytes sent on each rail, by addresses whose rail is known.
fn loads_of_rails(sent: impl Iterator<Item = (IpAddr, u64)>, rails: &Rails) -> BTreeMap<u32, u64> {
    let mut by_rail: BTreeMap<u32, u64> = BTreeMap::new();
    for (source, bytes) in sent {
        if let Some(rail) = rails.of_address(source) {
            *by_rail.entry(rail).or_default() += bytes;
        }
    }
    by_rail
}

fn on_uplinks(facts: &Facts<'_>, taps: &[(TapId, String)]) -> Option<Finding> {
    let load = |tap: &TapId| facts.state.tracker.tap(*tap).map_or(0, |tap| tap.wire_bytes);
    let loads: Vec<u64> = taps.iter().map(|(tap, _)| load(tap)).collect();
    let jain_index = jain(&loads);
    if jain_index >= facts.settings.findings.jain_index {
        return None;
    }
    let (fullest, name) =
        taps.iter().max_by_key(|(tap, _)| (load(tap), std::cmp::Reverse(*tap)))?;
    let mut flows: Vec<&QueuePair> =
        facts.flows.iter().filter(|flow| passes(facts.state, flow, *fullest)).collect();
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.payload_bytes), flow.at));
    let suffers = |flow: &&QueuePair| flow.marks.0 > 0 || flow.cnps > 0 || flow.missing > flow.late;
    let is_harmful = flows.iter().any(suffers);
    let ports: BTreeSet<u16> = flows.iter().flat_map(|flow| source_ports(facts, flow)).collect();
    let claim = PaceClaim::HotUplink {
        name: name.clone(),
        load: Load {
            bytes: load(fullest),
            of_bytes: loads.iter().sum(),
            paths: loads.len() as u64,
            jain_index,
        },
    };
    let severity = if is_harmful { Severity::Warning } else { Severity::Info };
    let mut finding = KIND
        .finding(severity, claim)
        .caused_by("uplinks")
        .about(Subject { flow: flows.first().map(|flow| flow.at), ..Subject::default() })
        .over(facts.span());
    let uplinks = FrameObservation::Uplinks {
        loads: taps.iter().map(|(tap, name)| (name.clone(), load(tap))).collect(),
        flows: flows.len() as u64,
        udp_ports: ports.len() as u64,
    };
    finding.flows = flows.iter().map(|flow| flow.at).collect();
    finding = finding.because(Proof::frames(uplinks, None));
    if let Some(largest) = flows.first() {
        let payload = FlowObservation::Payload(largest.payload_bytes);
        finding = finding.because(Proof::flow(largest, payload, largest.first_frame(facts.state)));
    }
    Some(finding)
}

fn source_ports(facts: &Facts<'_>, flow: &QueuePair) -> Vec<u16> {
    let seen = facts.table().get(flow.at as usize);
    seen.map_or_else(Vec::new, |flow| {
        flow.headers.udp_source_ports().iter().map(|(port, _)| port).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::counter::join::PortNames;

    #[test]
    fn an_address_on_no_rail_hides_no_rail() {
        let map = r#"{"rails":{"0":["10.0.0.1"],"1":["10.0.1.1"]}}"#;
        let rails = Rails::mapped(&serde_json::from_str(map).unwrap(), &PortNames::default());
        let sent = [("10.0.0.1", 90), ("10.9.9.9", 50), ("10.0.1.1", 10), ("10.0.0.1", 5)];
        let sent = sent.map(|(source, bytes)| (source.parse().unwrap(), bytes));
        let loads = loads_of_rails(sent.into_iter(), &rails);
        assert_eq!(loads, BTreeMap::from([(0, 95), (1, 10)]));
    }

    #[test]
    fn jains_index_is_one_where_all_are_equal_and_one_nth_where_one_has_all() {
        let is = |loads: &[u64], index: f64| (jain(loads) - index).abs() < 1e-9;
        assert!(is(&[5, 5, 5, 5], 1.0) && is(&[9, 0, 0, 0], 0.25) && is(&[], 1.0));
        assert!(is(&[0, 0], 1.0) && is(&[2, 1], 0.9));
    }
}
