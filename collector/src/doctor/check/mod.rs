//! Checks: what facts mean for a job, one question a file. Nothing here reads the node.

mod access_control;
mod addresses;
mod character_devices;
mod clock;
mod congestion_control;
mod control_group;
mod counters;
mod devices;
mod firewall;
mod firmware;
mod gids;
mod gpu_direct;
mod gpu_distance;
mod hardware_errors;
mod huge_pages;
mod iommu;
mod link_pause;
mod locked_memory;
mod mtu;
mod namespace;
mod not_visible;
mod open_files;
mod pcie_link;
mod port_speed;
mod port_state;
mod power;
mod priorities;
mod read_request;
mod rendezvous;
mod shared_memory;
mod subnet;
mod traffic_class;
mod variables;
mod versions;

use std::collections::BTreeMap;

use super::fact::Facts;
use super::fact::interface::Interface;
use super::outcome::Outcome;
use railscope_core::report::words::number::counted;

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name in reports.
    pub name: &'static str,
    /// The question that it answers.
    pub asks: &'static str,
    /// The answers; none if the question does not arise on this node.
    pub judge: fn(&Facts) -> Vec<Outcome>,
}

/// All checks, in the order in which trouble is looked for: RDMA objects before the fabric, the node before
/// the job's settings.
pub const ALL: &[Check] = &[
    devices::CHECK,
    port_state::CHECK,
    port_speed::CHECK,
    firmware::CHECK,
    gids::CHECK,
    subnet::CHECK,
    addresses::CHECK,
    mtu::CHECK,
    namespace::CHECK,
    character_devices::CHECK,
    locked_memory::CHECK,
    priorities::CHECK,
    traffic_class::CHECK,
    link_pause::CHECK,
    congestion_control::CHECK,
    counters::CHECK,
    hardware_errors::CHECK,
    pcie_link::CHECK,
    read_request::CHECK,
    gpu_distance::CHECK,
    gpu_direct::CHECK,
    access_control::CHECK,
    iommu::CHECK,
    shared_memory::CHECK,
    huge_pages::CHECK,
    control_group::CHECK,
    open_files::CHECK,
    power::CHECK,
    clock::CHECK,
    firewall::CHECK,
    rendezvous::CHECK,
    versions::CHECK,
    variables::CHECK,
    not_visible::CHECK,
];

/// What all checks say, in their order.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Outcome> {
    let of_check = |check: &'static Check| {
        let outcomes = (check.judge)(facts).into_iter();
        outcomes.map(|outcome| Outcome { check: check.name.to_owned(), ..outcome })
    };
    ALL.iter().flat_map(of_check).collect()
}

/// A network interface that carries RoCE.
struct Rail<'a> {
    /// NICs of one kind should be set up alike; those of another need not.
    kind: &'a str,
    interface: &'a Interface,
}

/// The interfaces that carry a job's RoCE, each once: members of a bond, not the bond; those that NCCL_IB_HCA selects, if it
/// is set.
fn rails(facts: &Facts) -> Vec<Rail<'_>> {
    let selected = variables::selected_devices(facts);
    let mut rails: Vec<Rail<'_>> = Vec::new();
    for (device, port) in facts.active_ports().filter(|(_, port)| port.is_roce()) {
        if !(selected.is_empty() || selected.contains(&device.name)) {
            continue;
        }
        let Some(netdev) = port.netdev.as_deref().and_then(|name| facts.interface(name)) else {
            continue;
        };
        let members = netdev.members.iter().filter_map(|name| facts.interface(name));
        let members: Vec<&Interface> =
            if netdev.members.is_empty() { vec![netdev] } else { members.collect() };
        let kind = device.board.as_deref().or(device.driver.as_deref()).unwrap_or_default();
        for interface in members {
            if rails.iter().all(|rail| rail.interface.name != interface.name) {
                rails.push(Rail { kind, interface });
            }
        }
    }
    rails
}

/// Names of interfaces by value, for each kind of NIC: alike are those with one value.
fn by_kind<'a, T: Ord>(
    rails: &[Rail<'a>],
    value: impl Fn(&'a Interface) -> Option<T>,
) -> Vec<BTreeMap<T, Vec<String>>> {
    let mut kinds: BTreeMap<&str, BTreeMap<T, Vec<String>>> = BTreeMap::new();
    for rail in rails {
        if let Some(value) = value(rail.interface) {
            kinds
                .entry(rail.kind)
                .or_default()
                .entry(value)
                .or_default()
                .push(rail.interface.name.clone());
        }
    }
    kinds.into_values().collect()
}

/// `a`, `a and b`, `a, b and 3 more`.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] if names.len() <= SHOWN => format!("{} and {last}", most.join(", ")),
        many => format!(
            "{} and {} more",
            many.iter().take(SHOWN - 1).cloned().collect::<Vec<_>>().join(", "),
            many.len() - (SHOWN - 1)
        ),
    }
}

/// `1 port`, `2 ports`.
fn count(number: usize, noun: &str) -> String {
    counted(number as u64, noun)
}
