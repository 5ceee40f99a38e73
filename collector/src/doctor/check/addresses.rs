//! Are several RDMA interfaces in one network, where ARP may answer for the wrong one, or in networks that do
//! not reach each other?

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::interface::{Arp, Interface, Network};
use crate::doctor::outcome::Outcome;

/// Networks of RDMA interfaces.
pub(super) const CHECK: Check =
    Check { name: "networks", asks: "Do addresses and ARP suit several rails?", judge };

const SEEN: &str =
    "/proc/net/{route,ipv6_route}, /proc/sys/net/ipv4/conf/*/{arp_ignore,arp_announce,rp_filter}";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut names: Vec<&str> = facts
        .active_ports()
        .filter(|(_, port)| port.is_roce())
        .filter_map(|(_, port)| port.netdev.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    let interfaces: Vec<&Interface> =
        names.iter().filter_map(|name| facts.interface(name)).collect();
    let mut networks: BTreeMap<Network, Vec<&Interface>> = BTreeMap::new();
    for interface in &interfaces {
        // Where a rail has both, IPv4 decides: NCCL takes its GID first.
        let has_v4 = interface.networks.iter().any(|network| network.address.is_ipv4());
        let counts = |network: &&Network| network.address.is_ipv4() == has_v4;
        for network in interface.networks.iter().filter(counts) {
            let members = networks.entry(*network).or_default();
            // One interface may have two routes to its network.
            if members.iter().all(|known| known.name != interface.name) {
                members.push(interface);
            }
        }
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    // IPv6 neighbour discovery answers for the interface's own addresses only.
    let shared =
        networks.iter().filter(|(network, members)| network.address.is_ipv4() && members.len() > 1);
    for (network, members) in shared {
        let members: Vec<&Interface> = members.clone();
        let names: Vec<String> = members.iter().map(|interface| interface.name.clone()).collect();
        let suits = |arp: Arp| {
            arp.ignore.is_none_or(|mode| mode >= 1) && arp.announce.is_none_or(|mode| mode == 2)
        };
        let wrong = members.iter().filter(|interface| !suits(interface.arp)).count();
        let filtered = members.iter().any(|interface| interface.arp.filter == Some(1));
        if wrong == 0 {
            // Routes by source address satisfy the filter, too.
            if filtered {
                let says = format!(
                    "rp_filter=1 on {}, all in {network}: packets that arrive by another interface than the route back are dropped.",
                    list(&names)
                );
                outcomes.push(Outcome::note(says).seen(SEEN).fix("a routing table for each interface, or `sysctl -w net.ipv4.conf.all.rp_filter=2`"));
            }
            continue;
        }
        let says = format!(
            "{} share the network {network}: Linux answers ARP for any of their addresses on any of them, so packets of one rail \
             arrive at another, or are dropped.",
            list(&names)
        );
        // Cables between two nodes have link-local addresses on purpose.
        let is_link_local =
            matches!(network.address, IpAddr::V4(address) if address.is_link_local());
        let outcome = if is_link_local { Outcome::note(says) } else { Outcome::warning(says) };
        outcomes.push(outcome.seen(SEEN).fix(
            "a network for each rail; or `sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 \
             net.ipv4.conf.all.rp_filter=2`, and a routing table for each interface",
        ));
    }
    let is_alone = networks.len() > 1 && networks.values().all(|members| members.len() == 1);
    if outcomes.is_empty() && is_alone {
        let cross = super::variables::effective(facts, "NCCL_CROSS_NIC");
        let cross = cross.map(|set| set.value.as_str());
        let says = format!(
            "{} rails, each in a network of its own: {}.",
            networks.len(),
            list(&networks.keys().map(Network::to_string).collect::<Vec<_>>())
        );
        outcomes.push(match cross {
            Some("1") => Outcome::note(format!(
                "{says} NCCL_CROSS_NIC=1 lets NCCL connect different rails, which works only if they reach each other."
            ))
            .seen(SEEN)
            .fix("NCCL_CROSS_NIC=0 where rails are separate"),
            _ => Outcome::right(says).seen(SEEN),
        });
    }
    outcomes
}
