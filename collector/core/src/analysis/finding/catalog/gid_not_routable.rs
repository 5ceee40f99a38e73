//! RoCE ports have no GID whose packets could be routed.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, port_name};
use crate::model::counter::PortState;
use crate::model::node::{Gid, LinkLayer, RoceVersion};

/// No routable GID.
pub const KIND: Kind = Kind {
    id: "gid_not_routable",
    about: "An RDMA port has only link-local GIDs or RoCE v1: no address from which RoCE v2 packets can be \
            routed. NCCL connects there only within one subnet or not at all, and NCCL_IB_GID_INDEX \
            names a GID that does not exist.",
    threshold: "GIDs of the port are listed, none of them is RoCE v2 with an IPv4 or global IPv6 address, and \
                the port is not known to be down or InfiniBand.",
    remedy: "Give the port's network interface an IPv4 address: its GIDs then appear (`show_gids`). Or use only \
             the ports that have one: NCCL_IB_HCA. Leave NCCL_IB_GID_INDEX unset from NCCL 2.21 on: NCCL \
             then takes the right index of each port.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// The index at which the first IPv4 address has its RoCE v2 GID, and which guides tell people to use.
const USUAL_INDEX: u32 = 3;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let mut by_port: BTreeMap<(&str, u32), Vec<&Gid>> = BTreeMap::new();
    for said in &node.gids {
        by_port.entry((&said.value.device, said.value.port)).or_default().push(&said.value);
    }
    by_port.retain(|port, gids| is_roce(node, *port, gids) && !is_down(node, *port));
    let routable =
        |gids: &[&Gid]| gids.iter().filter(|gid| gid.is_routable()).map(|gid| gid.index).max();
    let name = |port: (&str, u32), gids: &[&Gid]| {
        let netdev = gids.iter().find_map(|gid| gid.netdev.as_deref());
        port_name(port.0, port.1, netdev)
    };
    let without = || by_port.iter().filter(|(_, gids)| routable(gids).is_none());
    let (&(device, number), _) = without().next()?;
    let mut said = node.gids.iter();
    let said = said.find(|said| said.value.device == device && said.value.port == number)?;
    let has_usual = without().any(|(_, gids)| gids.iter().any(|gid| gid.index == USUAL_INDEX));
    let with = by_port.iter().filter_map(|(port, gids)| Some((name(*port, gids), routable(gids)?)));
    let claim = NodeClaim::NoRoutableGid {
        host: node.host.clone(),
        ports: without().map(|(port, gids)| name(*port, gids)).collect(),
        routable: with.collect(),
        missing_index: (!has_usual).then_some(USUAL_INDEX),
    };
    let finding = KIND.finding(Severity::Warning, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}

/// GIDs of InfiniBand are listed as v1, too: only v2, or a tool, shows that a port is of RoCE.
fn is_roce(node: &Node, (device, number): (&str, u32), gids: &[&Gid]) -> bool {
    let known = node.port_of(device, number);
    match known.and_then(|port| port.link_layer) {
        Some(layer) => layer == LinkLayer::Ethernet,
        None => gids.iter().any(|gid| gid.version == Some(RoceVersion::V2)),
    }
}

fn is_down(node: &Node, (device, number): (&str, u32)) -> bool {
    node.port_of(device, number).is_some_and(|port| port.state == Some(PortState::Down))
}
