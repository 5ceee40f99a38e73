//! A port is slower than its twins on the node.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said, name_of};
use crate::model::counter::PortState;
use crate::model::node::{LinkLayer, RdmaPort};

/// A slower port.
pub const KIND: Kind = Kind {
    id: "port_slower",
    about: "A port runs at a lower rate than the other ports of the same kind on its node. NCCL spreads data \
            evenly over rails, so that the slowest port sets the pace.",
    threshold: "A port that is up has a lower rate than most that are up with the same link layer and, where tools name \
                it, of the same model. A warning if at least three of the same model are faster and no more than a \
                quarter are slower; information else: a front end may well have another rate.",
    remedy: "Cable, transceiver and the settings of the switch port (`mlxlink -d DEVICE -m`): speed, FEC, autonegotiation. \
             If it is a front end: leave it out in NCCL_IB_HCA.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// What ports of one kind have in common: link layer and model.
type Kin<'a> = (Option<LinkLayer>, Option<&'a str>);

/// Faster twins that make it a warning.
const TWINS: usize = 3;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().flat_map(findings).collect()
}

fn findings(node: &Node) -> Vec<Finding> {
    let mut alike: BTreeMap<Kin<'_>, Vec<&Said<RdmaPort>>> = BTreeMap::new();
    let up = node.ports.iter().filter(|said| said.value.state == Some(PortState::Active));
    for said in up.filter(|said| said.value.rate_bps.is_some()) {
        let key = (node.link_layer(&said.value), said.value.model.as_deref());
        alike.entry(key).or_default().push(said);
    }
    let alike = alike.into_iter();
    alike.filter_map(|((_, model), ports)| finding(node, model.is_some(), &ports)).collect()
}

fn finding(node: &Node, is_named: bool, ports: &[&Said<RdmaPort>]) -> Option<Finding> {
    let usual = ports.iter().filter_map(|said| said.value.rate_bps).max()?;
    let (fast, slow): (Vec<_>, Vec<_>) =
        ports.iter().partition(|said| said.value.rate_bps == Some(usual));
    // Without a model, two NICs of different kinds differ.
    if slow.is_empty() || fast.len() <= slow.len() || (!is_named && fast.len() < TWINS) {
        return None;
    }
    let is_odd = is_named && fast.len() >= TWINS && slow.len() * 4 <= ports.len();
    let severity = if is_odd { Severity::Warning } else { Severity::Info };
    let of = |said: &&&Said<RdmaPort>| Some((name_of(&said.value), said.value.rate_bps?));
    let slower: Vec<(String, u64)> = slow.iter().filter_map(of).collect();
    let first = slow.first()?;
    let claim = NodeClaim::PortSlower {
        host: node.host.clone(),
        ports: slower,
        usual_bps: usual,
        twins: fast.len() as u64,
    };
    let finding = KIND.finding(severity, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(first.quote.clone()), first.witness)))
}
