//! Interfaces have different settings for priorities.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said};
use crate::model::node::{Qos, Trust};

/// Settings differ.
pub const KIND: Kind = Kind {
    id: "qos_differs",
    about: "Interfaces differ in PFC, trust or the priorities of DSCPs. Where one end of a path treats RoCE as \
            lossless and the other does not, packets are dropped or pause spreads into other traffic.",
    threshold: "Two interfaces have different values of the same setting: a warning if they have the same name on two \
                nodes, information else.",
    remedy: "Set all alike: `mlnx_qos -i NETDEV --trust dscp --pfc 0,0,0,1,0,0,0,0`, on all nodes, and the same on \
             the switches.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// A setting of an interface in words.
type Value = fn(&Qos) -> Option<String>;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let settings: [(&'static str, Value); 2] =
        [("PFC", pfc), ("trust", |qos| qos.trust.map(Trust::name).map(str::to_owned))];
    let finding = |(what, value): (&'static str, Value)| {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut first = None;
        for (node, said) in all(facts) {
            let Some(value) = value(&said.value) else { continue };
            first = first.or(Some(said));
            values.entry(value).or_default().push(name(node, &said.value));
        }
        if values.len() < 2 {
            return None;
        }
        let severity = match is_of_one_role(facts, value) {
            true => Severity::Warning,
            false => Severity::Info,
        };
        let claim = NodeClaim::QosDiffers { what, values: values.into_iter().collect() };
        let said = first?;
        let finding = KIND.finding(severity, claim).proven();
        Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
    };
    settings.into_iter().filter_map(finding).collect()
}

/// Whether an interface of the same name has different values on two nodes: within a node, the front
/// end may well differ from the fabric.
fn is_of_one_role(facts: &Facts<'_>, value: Value) -> bool {
    let mut by_interface: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (_, said) in all(facts) {
        if let Some((interface, value)) = said.value.interface.as_deref().zip(value(&said.value)) {
            by_interface.entry(interface).or_default().insert(value);
        }
    }
    by_interface.values().any(|values| values.len() > 1)
}

fn all<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (&'a Node, &'a Said<Qos>)> {
    facts.state.nodes.iter().flat_map(|node| node.qos.iter().map(move |said| (node, said)))
}

/// `3`, `3,4` or `none`.
fn pfc(qos: &Qos) -> Option<String> {
    let on = qos.pfc?.into_iter().enumerate().filter(|(_, is_on)| *is_on);
    let on: Vec<String> = on.map(|(priority, _)| priority.to_string()).collect();
    Some(if on.is_empty() { "none".to_owned() } else { on.join(",") })
}

fn name(node: &Node, qos: &Qos) -> String {
    let parts = [node.host.as_deref(), qos.interface.as_deref()];
    let known: Vec<&str> = parts.into_iter().flatten().collect();
    if known.is_empty() { "an interface without a name".to_owned() } else { known.join(" ") }
}
