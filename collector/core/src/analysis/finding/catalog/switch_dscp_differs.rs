//! Hosts and a switch put the same DSCP in different priorities.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::finding::claim::switch::{DscpUse, SwitchClaim};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said};
use crate::link::tool::switch::Switch;
use crate::model::node::{Qos, Trust};
use crate::model::switch::MapKind;

/// DSCPs go different ways.
pub const KIND: Kind = Kind {
    id: "switch_dscp_differs",
    about: "No DSCP that a host puts in its lossless priority is in that priority at the switch. RoCE is lossless at \
            one of them only: the switch drops it when its buffer is full, or pauses a priority that \
            the host does not send it with.",
    threshold: "Of an interface that trusts the DSCP and has PFC: all DSCPs of a priority with PFC are in other priorities at \
                the switch, or all that the switch has there are in other priorities at the host. Or \
                the switch trusts the PCP alone. What a map does not list is not judged.",
    remedy: "The same map on both: `mlnx_qos -i NETDEV --dscp2prio set,26,3` on hosts; DSCP_TO_TC_MAP and \
             TC_TO_PRIORITY_GROUP_MAP on SONiC, `nv set qos mapping default-global dscp 26 switch-priority 3` on \
             Cumulus, `qos map dscp 26 to traffic-class 3` and `qos trust dscp` on EOS. NCCL_IB_TC=106 is DSCP 26.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Which interfaces have a mismatch: its priority and DSCPs.
type Group = (u8, Vec<u8>);

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let switches = facts.state.switches.iter();
    switches.flat_map(|switch| trust(facts, switch).or_else(|| maps(facts, switch))).collect()
}

/// Interfaces that choose priorities by DSCP, and have PFC.
fn interfaces<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (&'a Node, &'a Said<Qos>)> {
    let all = facts.state.nodes.iter().flat_map(|node| node.qos.iter().map(move |qos| (node, qos)));
    all.filter(|(_, said)| {
        said.value.pfc.is_some_and(|pfc| pfc.contains(&true))
            && said.value.trust != Some(Trust::Pcp)
    })
}

fn trust(facts: &Facts<'_>, switch: &Switch) -> Option<Finding> {
    let by_dscp = |said: &Said<Qos>| said.value.trust == Some(Trust::Dscp);
    let known = interfaces(facts).filter(|(_, said)| by_dscp(said));
    let known: Vec<(&Node, &Said<Qos>)> = known.collect();
    let (_, first) = known.first().filter(|_| switch.trusts_pcp_alone())?;
    let names = known.iter().map(|(node, said)| name(node, &said.value)).collect();
    let claim = SwitchClaim::TrustDiffers { host: switch.host.clone(), interfaces: names };
    // The ports to the hosts may have another profile.
    Some(because(KIND.finding(Severity::Warning, claim), first, switch, false))
}

fn maps(facts: &Facts<'_>, switch: &Switch) -> Option<Finding> {
    if !switch.has_dscp_map() {
        return None;
    }
    let mut groups: BTreeMap<Group, Vec<String>> = BTreeMap::new();
    let mut first = None;
    for (node, said) in interfaces(facts) {
        for group in mismatches(&said.value, switch) {
            first = first.or(Some(said));
            groups.entry(group).or_default().push(name(node, &said.value));
        }
    }
    let of = |((priority, dscps), interfaces): (Group, Vec<String>)| {
        let known = dscps.iter().filter_map(|dscp| switch.priorities_of(*dscp));
        let there: BTreeSet<u8> = known.flatten().collect();
        DscpUse {
            interfaces,
            priority,
            there: there.into_iter().collect(),
            own: switch.dscps_of(priority).into_iter().collect(),
            dscps,
        }
    };
    let uses: Vec<DscpUse> = groups.into_iter().map(of).collect();
    let first = first?;
    let claim = SwitchClaim::DscpDiffers { host: switch.host.clone(), uses };
    let finding = KIND.finding(Severity::Warning, claim);
    // Without that map, a class is taken for the priority of the same number, which is only the usual case.
    let is_known = switch.map_lines.contains_key(&MapKind::ClassToGroup);
    let finding = if is_known { finding.proven() } else { finding };
    Some(because(finding, first, switch, true))
}

/// Priorities with PFC whose DSCPs are nowhere the same as at the switch.
fn mismatches(qos: &Qos, switch: &Switch) -> Vec<Group> {
    let by_dscp: BTreeMap<u8, u8> = qos.dscp.iter().copied().collect();
    let on = (0_u8..8).zip(qos.pfc.unwrap_or_default()).filter(|(_, is_on)| *is_on);
    let group = |(priority, _): (u8, bool)| {
        let own = by_dscp.iter().filter(|(_, own)| **own == priority);
        let own: Vec<u8> = own.map(|(dscp, _)| *dscp).collect();
        let there = switch.dscps_of(priority);
        let goes_elsewhere =
            |dscp: &u8| switch.priorities_of(*dscp).is_some_and(|found| !found.contains(&priority));
        let comes_elsewhere = |dscp: &u8| by_dscp.get(dscp).is_some_and(|known| *known != priority);
        let is_wrong = (!own.is_empty() && own.iter().all(goes_elsewhere))
            || (!there.is_empty() && there.iter().all(comes_elsewhere));
        // Without a DSCP of its own here, a priority is used by PCP.
        (is_wrong && !own.is_empty()).then_some((priority, own))
    };
    on.filter_map(group).collect()
}

fn because(finding: Finding, host: &Said<Qos>, switch: &Switch, by_map: bool) -> Finding {
    let finding =
        finding.because(Proof::log(LogObservation::Quote(host.quote.clone()), host.witness));
    let map = switch.map_lines.get(&MapKind::DscpToClass).filter(|_| by_map);
    match map.or(switch.settings_line.as_ref()) {
        Some((witness, quote)) => {
            finding.because(Proof::log(LogObservation::Quote(quote.clone()), *witness))
        }
        None => finding,
    }
}

fn name(node: &Node, qos: &Qos) -> String {
    let parts = [node.host.as_deref(), qos.interface.as_deref()];
    let known: Vec<&str> = parts.into_iter().flatten().collect();
    if known.is_empty() { "a host".to_owned() } else { known.join(" ") }
}
