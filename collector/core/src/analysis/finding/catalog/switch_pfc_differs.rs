//! Hosts and a switch have PFC on different priorities.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::switch::Switch;

/// PFC differs between hosts and switch.
pub const KIND: Kind = Kind {
    id: "switch_pfc_differs",
    about: "Hosts have PFC on a priority on which the switch has none: it ignores their pauses and drops what they \
            send when its buffer is full, and its own pauses stop traffic that is not RoCE.",
    threshold: "No listed port of the switch has PFC on all priorities that an interface of a host has (`mlnx_qos`, `dcb pfc \
                show`; `show pfc priority`, `nv show qos roce`, `show priority-flow-control`, config_db.json).",
    remedy: "One priority for RoCE everywhere: `config interface pfc priority PORT 3 on` on SONiC, `nv set qos \
             roce` on Cumulus, `priority-flow-control priority 3 no-drop` on EOS, `mlnx_qos -i NETDEV --trust dscp --pfc 0,0,0,1,0,0,0,0` on hosts, and the same map of DSCPs on both.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.switches.iter().filter_map(|switch| finding(facts, switch)).collect()
}

fn finding(facts: &Facts<'_>, switch: &Switch) -> Option<Finding> {
    let sets: Vec<[bool; 8]> = switch.lossless().collect();
    if sets.is_empty() {
        return None;
    }
    let has_all = |host: &[bool; 8]| {
        sets.iter().any(|set| host.iter().zip(set).all(|(wanted, is_on)| *is_on || !*wanted))
    };
    let all = facts.state.nodes.iter().flat_map(|node| node.qos.iter().map(move |qos| (node, qos)));
    let named = all.filter_map(|(node, said)| {
        let pfc = said.value.pfc.filter(|pfc| pfc.contains(&true) && !has_all(pfc))?;
        let parts = [node.host.as_deref(), said.value.interface.as_deref()];
        let known: Vec<&str> = parts.into_iter().flatten().collect();
        let name = if known.is_empty() { "a host".to_owned() } else { known.join(" ") };
        Some((name, words(&pfc)))
    });
    let interfaces: Vec<(String, String)> = named.collect();
    if interfaces.is_empty() {
        return None;
    }
    let mut ports: BTreeMap<String, u64> = BTreeMap::new();
    for set in switch.ports.values().filter_map(|port| port.lossless) {
        let known = ports.entry(words(&set)).or_default();
        *known = known.saturating_add(1);
    }
    for set in switch.settings.values().filter_map(|one| one.lossless) {
        ports.entry(words(&set)).or_default();
    }
    let ports = ports.into_iter().collect();
    let claim = SwitchClaim::PfcDiffers { host: switch.host.clone(), interfaces, ports };
    let finding = KIND.finding(Severity::Warning, claim).proven();
    Some(match &switch.settings_line {
        Some((witness, quote)) => {
            finding.because(Proof::log(LogObservation::Quote(quote.clone()), *witness))
        }
        None => finding,
    })
}

/// `priority 3`, `priorities 3,4`, `no priority`.
fn words(pfc: &[bool; 8]) -> String {
    let on = pfc.iter().enumerate().filter(|(_, is_on)| **is_on);
    let on: Vec<String> = on.map(|(priority, _)| priority.to_string()).collect();
    match on.as_slice() {
        [] => "no priority".to_owned(),
        [one] => ["priority ", one.as_str()].concat(),
        several => ["priorities ", several.join(",").as_str()].concat(),
    }
}
