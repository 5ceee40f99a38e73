//! One name for the devices and interfaces of one place on nodes that name them differently.
//!
//! udev, the kernel and administrators name devices: `mlx5_3` on one node is `rocep90s0` on its twin. Nodes of one model
//! have the same device at the same PCIe address, so that decides which is which.

use std::collections::BTreeMap;

use crate::doctor::setting::Settings;

/// End of the key of a device's PCIe address.
const FUNCTION: &str = ".function";

/// The settings of all nodes, devices and interfaces by the names that most nodes give them. What a node itself calls them is
/// in `rdma.DEVICE.name`, where nodes do not agree.
pub(super) fn alike<'a>(nodes: impl Iterator<Item = &'a Settings>) -> Vec<Settings> {
    let nodes: Vec<&Settings> = nodes.collect();
    let devices: Vec<BTreeMap<&str, &str>> = nodes.iter().map(|node| devices(node)).collect();
    let usual = usual(devices.iter());
    let renamed = nodes.iter().zip(&devices).map(|(node, devices)| {
        let renamed: BTreeMap<&str, &str> = devices
            .iter()
            .filter_map(|(function, name)| Some((*name, *usual.get(function)?)))
            .collect();
        // Two devices may not become one.
        let is_unique = |name: &str| renamed.values().filter(|other| **other == name).count() == 1;
        if renamed.iter().all(|(own, usual)| own == usual)
            || !renamed.values().all(|n| is_unique(n))
        {
            return (*node).clone();
        }
        rename(node, &renamed)
    });
    let mut all: Vec<Settings> = renamed.collect();
    rename_interfaces(&mut all);
    // The address itself is the business of each node's firmware.
    all.iter_mut().for_each(|node| node.retain(|key, _| !key.ends_with(FUNCTION)));
    all
}

/// PCIe addresses and names of a node's devices.
fn devices(node: &Settings) -> BTreeMap<&str, &str> {
    let functions = node.iter().filter_map(|(key, function)| {
        let name = key.strip_prefix("rdma.")?.strip_suffix(FUNCTION)?;
        Some((function.as_str(), name))
    });
    functions.collect()
}

/// The name that most nodes have for what is at an address; the first of two that are equally many.
fn usual<'a>(
    nodes: impl Iterator<Item = &'a BTreeMap<&'a str, &'a str>>,
) -> BTreeMap<&'a str, &'a str> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (place, name) in nodes.flatten() {
        *counts.entry(place).or_default().entry(name).or_default() += 1;
    }
    let most = |names: BTreeMap<&'a str, usize>| {
        names.into_iter().rev().max_by_key(|(_, count)| *count).map(|(name, _)| name)
    };
    counts.into_iter().filter_map(|(place, names)| Some((place, most(names)?))).collect()
}

/// Renames devices, and notes what the node calls them.
fn rename(node: &Settings, names: &BTreeMap<&str, &str>) -> Settings {
    let mut renamed = Settings::new();
    for (key, value) in node {
        let parts = key.strip_prefix("rdma.").and_then(|rest| rest.split_once('.'));
        let usual = parts.and_then(|(name, rest)| Some((*names.get(name)?, rest)));
        let key = usual.map_or_else(|| key.clone(), |(name, rest)| format!("rdma.{name}.{rest}"));
        renamed.insert(key, value.clone());
    }
    let differ = names.iter().filter(|(own, usual)| own != usual);
    renamed.extend(differ.map(|(own, usual)| (format!("rdma.{usual}.name"), (*own).to_owned())));
    renamed
}

/// Interfaces go by their device's usual interface.
fn rename_interfaces(nodes: &mut [Settings]) {
    let interfaces: Vec<BTreeMap<String, String>> =
        nodes.iter().map(|node| of_suffix(node, ".netdev")).collect();
    let borrowed: Vec<BTreeMap<&str, &str>> = interfaces
        .iter()
        .map(|node| node.iter().map(|(port, name)| (port.as_str(), name.as_str())).collect())
        .collect();
    let usual = usual(borrowed.iter());
    for (node, own) in nodes.iter_mut().zip(&borrowed) {
        for (port, name) in own {
            let Some(usual) = usual.get(port).filter(|usual| *usual != name) else { continue };
            let prefix = format!("net.{name}.");
            let moved: Vec<(String, String)> = node
                .iter()
                .filter(|(key, _)| key.starts_with(&prefix))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let target =
                |key: &str| key.strip_prefix(&prefix).map(|rest| format!("net.{usual}.{rest}"));
            let is_taken =
                moved.iter().filter_map(|(key, _)| target(key)).any(|key| node.contains_key(&key));
            if is_taken {
                continue;
            }
            for (key, value) in moved {
                if let Some(target) = target(&key) {
                    node.remove(&key);
                    node.insert(target, value);
                }
            }
        }
    }
}

/// Values of keys with this end, by the rest of the key.
fn of_suffix(node: &Settings, suffix: &str) -> BTreeMap<String, String> {
    let found = node
        .iter()
        .filter_map(|(key, value)| Some((key.strip_suffix(suffix)?.to_owned(), value.clone())));
    found.collect()
}
