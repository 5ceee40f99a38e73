//! RoCE ports use a small path MTU.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said, name_of};
use crate::model::counter::PortState;
use crate::model::node::{LinkLayer, RdmaPort};

/// Small path MTU.
pub const KIND: Kind = Kind {
    id: "port_mtu",
    about: "A RoCE port sends packets of 1024 bytes or less, because its network interface has an MTU of 1500: \
            four times as many packets as with 4096, which cost packet rate and headers.",
    threshold: "An Ethernet port that is up has an active MTU of at most 1024 and a device that can do more.",
    remedy: "MTU 4200 or more (usually 9000) on the network interface, on every switch port of the path and on \
             all nodes alike: `ip link set NETDEV mtu 9000`. Then active_mtu of `ibv_devinfo` is 4096.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// The path MTU that an interface with an MTU of 1500 bytes leaves.
const SMALL: u32 = 1024;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let is_small = |said: &&Said<RdmaPort>| {
        let port = &said.value;
        let is_up = !matches!(port.state, Some(PortState::Down));
        let has_more = port.max_mtu.zip(port.active_mtu).is_some_and(|(most, own)| own < most);
        let is_roce = node.link_layer(port) == Some(LinkLayer::Ethernet);
        is_up && is_roce && has_more && port.active_mtu.is_some_and(|mtu| mtu <= SMALL)
    };
    let small: Vec<&Said<RdmaPort>> = node.ports.iter().filter(is_small).collect();
    let first = *small.first()?;
    let named =
        small.iter().filter_map(|said| Some((name_of(&said.value), said.value.active_mtu?)));
    let claim = NodeClaim::SmallMtu {
        host: node.host.clone(),
        ports: named.collect(),
        possible: small.iter().filter_map(|said| said.value.max_mtu).max()?,
    };
    let finding = KIND.finding(Severity::Info, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(first.quote.clone()), first.witness)))
}
