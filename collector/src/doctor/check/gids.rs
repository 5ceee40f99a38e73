//! Does each RoCE port have a GID that can be routed, and does the job's index lead to one?

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::rdma::{Device, Port};
use crate::doctor::outcome::Outcome;
use railscope_core::model::node::{Gid, RoceVersion};

/// GIDs.
pub(super) const CHECK: Check =
    Check { name: "gids", asks: "Does each RoCE port have a routable RoCE v2 GID?", judge };

const SEEN: &str = "/sys/class/infiniband/*/ports/*/{gids,gid_attrs}";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let ports: Vec<(&Device, &Port)> =
        facts.active_ports().filter(|(_, port)| port.is_roce()).collect();
    let mut outcomes = Vec::new();
    let without = |(device, port): &(&Device, &Port)| {
        port.best_gid().is_none().then(|| device.port_name(port))
    };
    let without: Vec<String> = ports.iter().filter_map(without).collect();
    if !without.is_empty() {
        outcomes.push(none_routable(&ports, &without));
    }
    outcomes.extend(by_index(facts, &ports));
    if outcomes.is_empty() && !ports.is_empty() {
        let indices: Vec<String> =
            ports.iter().filter_map(|(_, port)| Some(port.best_gid()?.index.to_string())).collect();
        let mut distinct = indices.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let at = match distinct.as_slice() {
            [one] if ports.len() == 1 => format!("at index {one}"),
            [one] => format!("at index {one} on each"),
            _ => format!("at indices {}", list(&indices)),
        };
        let says =
            format!("{} with a routable RoCE v2 GID, {at}.", count(ports.len(), "RoCE port"));
        outcomes.push(Outcome::right(says).seen(SEEN));
    }
    outcomes
}

/// A cable between two nodes needs no router: link-local IPv4 addresses are set up on purpose there, and NCCL takes
/// them. Of IPv6 each interface has one.
fn none_routable(ports: &[(&Device, &Port)], names: &[String]) -> Outcome {
    let without = || ports.iter().filter(|(_, port)| port.best_gid().is_none());
    let every = |wanted: fn(&Gid) -> bool| {
        without().all(|(_, port)| {
            let mut v2 = port.gids.iter().filter(|gid| gid.version == Some(RoceVersion::V2));
            v2.any(wanted)
        })
    };
    let names = list(names);
    let fix = "`ip addr add ADDRESS/PREFIX dev DEV`";
    let outcome = if every(|gid| gid.gid.to_ipv4_mapped().is_some()) {
        Outcome::note(format!(
            "{names}: link-local addresses (169.254/16) reach hosts of the same network, and none behind a router."
        ))
    } else if every(|_| true) {
        Outcome::warning(format!(
            "{names}: link-local IPv6 addresses only. NCCL finds no GID, or reaches hosts of the same network only."
        ))
    } else {
        Outcome::warning(format!("{names}: no RoCE v2 GID."))
    };
    outcome.seen(SEEN).fix(fix)
}

/// The index that the job is set to use.
fn by_index(facts: &Facts, ports: &[(&Device, &Port)]) -> Vec<Outcome> {
    let Some(set) = super::variables::effective(facts, "NCCL_IB_GID_INDEX") else {
        return Vec::new();
    };
    let Ok(index) = u32::try_from(set.number()) else { return Vec::new() };
    let selected = super::variables::selected_devices(facts);
    let is_used = |device: &Device| selected.is_empty() || selected.contains(&device.name);
    let used = ports.iter().filter(|(device, _)| is_used(device));
    let wrong: Vec<String> = used
        .filter(|(_, port)| {
            port.gids.iter().find(|gid| gid.index == index).is_none_or(|gid| !is_usable(gid))
        })
        .map(|(device, port)| device.port_name(port))
        .collect();
    if wrong.is_empty() {
        return Vec::new();
    }
    let says = format!(
        "NCCL_IB_GID_INDEX={index} is no RoCE v2 GID with an address on {}: connections fail.",
        list(&wrong)
    );
    let fix = "the index that `show_gids` shows as v2 with the address; NCCL 2.21 and later find it themselves if it is unset";
    vec![Outcome::critical(says).seen(format!("{} and {SEEN}", set.source)).fix(fix)]
}

/// Whether NCCL can connect from it: of RoCE v2, with an IPv4 address, or routable.
fn is_usable(gid: &Gid) -> bool {
    let has_ipv4 = gid.version == Some(RoceVersion::V2) && gid.gid.to_ipv4_mapped().is_some();
    has_ipv4 || gid.is_routable()
}
