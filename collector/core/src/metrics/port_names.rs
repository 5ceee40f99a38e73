//! Names of ports in the attribute `rdma.port`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Settings;
use crate::analysis::port::JoinedPort;
use crate::analysis::understanding::Understanding;
use crate::link::counter::NicCounters;

/// Names of ports by address, and which ports are exported.
#[derive(Clone, Debug, Default)]
pub(super) struct PortNames {
    names: BTreeMap<IpAddr, String>,
    /// Ports whose traffic is exported; `None` for all.
    exported: Option<BTreeSet<IpAddr>>,
}

impl PortNames {
    pub(super) fn new(understanding: &Understanding, settings: &Settings) -> Self {
        let of_nics = understanding.state.counters.nics.iter().flat_map(|nic| {
            let name = of_nic(nic);
            nic.addresses.iter().filter_map(move |address| Some((*address, name.clone()?)))
        });
        let of_port = |port: &JoinedPort| {
            Some((port.address.to_ip(), name(port.host.as_deref(), port.device.as_deref())?))
        };
        let named = of_nics.chain(understanding.ports.iter().filter_map(of_port));
        Self { names: named.collect(), exported: settings.ports.clone() }
    }

    /// The name of a port: `host/device`, else its address. `None` if it is not exported.
    pub(super) fn name(&self, address: IpAddr) -> Option<String> {
        let is_exported = self.exported.as_ref().is_none_or(|ports| ports.contains(&address));
        let name = || self.names.get(&address).cloned().unwrap_or_else(|| address.to_string());
        is_exported.then(name)
    }
}

/// `host/device` of a NIC, with the port's number if it is not the first.
pub(super) fn of_nic(nic: &NicCounters) -> Option<String> {
    let device = nic.device.as_deref().or(nic.netdev.as_deref());
    Some(numbered(nic, name(nic.host.as_deref(), device)?))
}

/// `host/device` of a device's port, with its number if it is not the first.
pub(super) fn of_device(host: Option<&str>, device: &str, port: Option<u32>) -> String {
    with_number(port, name(host, Some(device)).unwrap_or_else(|| device.to_owned()))
}

/// `name` with the number of the NIC's port if it is not the first.
pub(super) fn numbered(nic: &NicCounters, name: String) -> String {
    with_number(nic.port, name)
}

fn with_number(port: Option<u32>, name: String) -> String {
    match port {
        Some(port) if port > 1 => format!("{name}:{port}"),
        _ => name,
    }
}

/// `host/device`; `None` unless both are known: every host has a `mlx5_0`.
fn name(host: Option<&str>, device: Option<&str>) -> Option<String> {
    Some(format!("{}/{}", host?, device?))
}
