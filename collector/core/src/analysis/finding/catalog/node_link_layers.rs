//! A node has ports of InfiniBand and of RoCE.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, name_of};
use crate::model::counter::PortState;
use crate::model::node::LinkLayer;

/// Two link layers on one node.
pub const KIND: Kind = Kind {
    id: "node_link_layers",
    about: "The node has InfiniBand and RoCE ports that are up. NCCL uses all of them unless it is told which, \
            and the two cannot reach each other.",
    threshold: "At least one port of each is up.",
    remedy: "Name the ports of one fabric: NCCL_IB_HCA=mlx5_0,mlx5_1, alike on all nodes.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let up = || node.ports.iter().filter(|said| said.value.state != Some(PortState::Down));
    let of_layer = |layer| up().filter(move |said| node.link_layer(&said.value) == Some(layer));
    let said = of_layer(LinkLayer::InfiniBand).next()?;
    of_layer(LinkLayer::Ethernet).next()?;
    let names = |layer| of_layer(layer).map(|said| name_of(&said.value)).collect();
    let claim = NodeClaim::LinkLayersMixed {
        host: node.host.clone(),
        infiniband: names(LinkLayer::InfiniBand),
        roce: names(LinkLayer::Ethernet),
    };
    let finding = KIND.finding(Severity::Info, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
