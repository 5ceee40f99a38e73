//! Some of a node's RDMA ports are down.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, name_of};
use crate::model::counter::PortState;

/// Ports are down.
pub const KIND: Kind = Kind {
    id: "ports_down",
    about: "RDMA ports of the node have no link. NCCL leaves them out, so that the node has fewer rails than \
            others, unless they are not meant to be used.",
    threshold: "A warning if all ports are down, information if some are: they may have no cable on purpose.",
    remedy: "If they are meant to be used: cable, transceiver, switch port (`mlxlink -d DEVICE -m`, `ip link set \
             NETDEV up`). If not: name the others in NCCL_IB_HCA, alike on all nodes.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let of_state = |is_wanted: &dyn Fn(PortState) -> bool| {
        let ports = node.ports.iter().filter(|said| said.value.state.is_some_and(is_wanted));
        ports.map(|said| name_of(&said.value)).collect::<Vec<String>>()
    };
    let is_down = |state| state == PortState::Down;
    let said = node.ports.iter().find(|said| said.value.state == Some(PortState::Down))?;
    let (down, up) = (of_state(&is_down), of_state(&|state| state == PortState::Active));
    let severity = if up.is_empty() { Severity::Warning } else { Severity::Info };
    let claim = NodeClaim::PortsDown { host: node.host.clone(), down, up };
    let finding = KIND.finding(severity, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
