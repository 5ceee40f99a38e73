//! A switch marks other queues than the lossless ones.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::switch::Switch;
use crate::model::switch::MapKind;

/// ECN is on elsewhere.
pub const KIND: Kind = Kind {
    id: "switch_ecn_differs",
    about: "The switch marks no packet with ECN in the queues of its lossless priorities. DCQCN never slows down senders of \
            RoCE, so that queues grow until PFC pauses them, and pause spreads.",
    threshold: "PFC is on for a priority (at hosts, if their outputs are known, else at the switch), a map says which queue it \
                leaves from, and that queue has no ECN on any port or profile that lists it. A warning if the \
                switch marks other queues, information if it marks none: some fabrics rely on PFC alone.",
    remedy: "ECN in the queue of RoCE: `ecnconfig` and QUEUE with `wred_profile` in config_db.json on SONiC, `nv set qos \
             congestion-control default-global traffic-class 3 ecn enable` (or `nv set qos roce`) on Cumulus, `uc-tx-queue 3`, \
             `random-detect ecn minimum-threshold ...` on EOS.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.switches.iter().filter_map(|switch| finding(facts, switch)).collect()
}

fn finding(facts: &Facts<'_>, switch: &Switch) -> Option<Finding> {
    let sets = switch.ecn_queues();
    let hosts = facts.state.nodes.iter().flat_map(|node| &node.qos);
    let hosts: Vec<[bool; 8]> = hosts.filter_map(|said| said.value.pfc).collect();
    let own: Vec<[bool; 8]> = switch.lossless().collect();
    let mut lossless = all_on(&hosts);
    if lossless.is_empty() {
        lossless = all_on(&own);
    }
    let mut queues = BTreeSet::new();
    for priority in &lossless {
        // One that is unknown may be marked.
        queues.extend(switch.queues_of(*priority)?);
    }
    let is_known = |queue: &u8| sets.iter().any(|set| set.known.contains(queue));
    let is_marked = |queue: &u8| sets.iter().any(|set| set.marked.contains(queue));
    if queues.is_empty() || !queues.iter().all(is_known) || queues.iter().any(is_marked) {
        return None;
    }
    let marked: BTreeSet<u8> = sets.iter().flat_map(|set| &set.marked).copied().collect();
    let severity = if marked.is_empty() { Severity::Info } else { Severity::Warning };
    let claim = SwitchClaim::EcnDiffers {
        host: switch.host.clone(),
        priorities: lossless.into_iter().collect(),
        queues: queues.into_iter().collect(),
        marked: marked.into_iter().collect(),
    };
    let line = switch.settings_line.as_ref();
    let maps = [MapKind::PfcToQueue, MapKind::ClassToQueue];
    let map = maps.iter().find_map(|kind| switch.map_lines.get(kind));
    let finding = KIND.finding(severity, claim);
    // Without that map, the queue of a priority is that of the class with the same number, as usual.
    let is_known = switch.map_lines.contains_key(&MapKind::PfcToQueue);
    let finding = if is_known { finding.proven() } else { finding };
    Some(line.into_iter().chain(map).fold(finding, |finding, (witness, quote)| {
        finding.because(Proof::log(LogObservation::Quote(quote.clone()), *witness))
    }))
}

/// Priorities that are on in any of these sets.
fn all_on(sets: &[[bool; 8]]) -> BTreeSet<u8> {
    let on = sets.iter().flat_map(|set| (0..).zip(set).filter(|(_, is_on)| **is_on));
    on.map(|(priority, _)| priority).collect()
}
