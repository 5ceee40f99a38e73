//! InfiniBand ports that no subnet manager has configured.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said, name_of};
use crate::model::counter::PortState;
use crate::model::node::{LinkLayer, RdmaPort};

/// No subnet manager.
pub const KIND: Kind = Kind {
    id: "no_subnet_manager",
    about: "The link of an InfiniBand port is up, but no subnet manager has given it an address: it carries no data.",
    threshold: "The state of an InfiniBand port is Initializing (PORT_INIT): for more than some seconds, no subnet manager \
                reaches it.",
    remedy: "Start opensm on one host or the subnet manager of a switch or of UFM (`sminfo`, `systemctl status opensm`). If one \
             runs: the cable leads to another fabric, or the manager refuses the port.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let waits = |said: &&Said<RdmaPort>| {
        said.value.state == Some(PortState::Initialize)
            && node.link_layer(&said.value) != Some(LinkLayer::Ethernet)
    };
    let ports: Vec<&Said<RdmaPort>> = node.ports.iter().filter(waits).collect();
    let first = *ports.first()?;
    let claim = NodeClaim::NoSubnetManager {
        host: node.host.clone(),
        ports: ports.iter().map(|said| name_of(&said.value)).collect(),
    };
    let finding = KIND.finding(Severity::Warning, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(first.quote.clone()), first.witness)))
}
