//! The RDMA ports of this host that can be measured, in the order of rails.

#[cfg(feature = "verbs")]
use std::collections::BTreeSet;
#[cfg(feature = "verbs")]
use std::net::IpAddr;

use super::matrix::Device;

/// Most ports of a host.
#[cfg(feature = "verbs")]
const MOST: usize = 16;

/// Which ports and GIDs to use.
#[derive(Clone, Debug, Default)]
pub struct RailSettings {
    /// Measure nothing over RDMA.
    pub is_off: bool,
    /// Devices in the syntax of `NCCL_IB_HCA`; `None` uses all.
    pub hca: Option<String>,
    /// Index in the GID table; `None` uses the RoCE v2 GID of an address of this host.
    pub gid_index: Option<u8>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Ports that are measured.
    pub devices: Vec<Device>,
    /// Why there is none, or which were left out and why.
    pub note: Option<String>,
}

/// The ports of this host.
#[cfg(not(feature = "verbs"))]
#[must_use]
pub fn find(settings: &RailSettings, _machine: &super::host::Machine) -> Found {
    let note = if settings.is_off {
        "--no-rdma"
    } else {
        "this railscope was built without verbs (cargo install --features verbs)"
    };
    Found { devices: Vec::new(), note: Some(note.to_owned()) }
}

/// The ports of this host.
#[cfg(feature = "verbs")]
#[must_use]
pub fn find(settings: &RailSettings, machine: &super::host::Machine) -> Found {
    use railscope_drive::rdma::verbs::inventory;

    if settings.is_off {
        return Found { devices: Vec::new(), note: Some("--no-rdma".to_owned()) };
    }
    let ports = inventory::ports(std::path::Path::new(inventory::FOLDER));
    if ports.is_empty() {
        return Found { devices: Vec::new(), note: Some("no RDMA device".to_owned()) };
    }
    choose(&ports, settings, &machine.addresses)
}

/// Ports that are active Ethernet and have a RoCE v2 GID of an address of this host, or the entry
/// that `--gid-index` names. Containers see devices and GIDs of other network namespaces: these
/// cannot be used.
#[cfg(feature = "verbs")]
fn choose(
    ports: &[railscope_drive::rdma::verbs::inventory::DevicePort],
    settings: &RailSettings,
    addresses: &BTreeSet<IpAddr>,
) -> Found {
    use railscope_drive::rdma::verbs::hca::HcaList;
    use railscope_drive::rdma::verbs::inventory::Gid;

    let list = HcaList::parse(settings.hca.as_deref().unwrap_or_default());
    let mut found = Found::default();
    // Reasons, and the ports that have them.
    let mut left_out: Vec<(String, Vec<String>)> = Vec::new();
    for port in ports.iter().filter(|port| list.accepts(&port.device, port.number)) {
        let is_link_local = |address: IpAddr| match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        let fits = |gid: &&Gid| match settings.gid_index {
            Some(index) => gid.index == index,
            None => gid.is_roce_v2 && addresses.contains(&gid.address()),
        };
        let gids = port.gids.iter().filter(fits);
        // Routable addresses first, of these IPv4.
        let best = gids
            .min_by_key(|gid| (is_link_local(gid.address()), gid.address().is_ipv6(), gid.index));
        let why = match best {
            _ if port.link_layer != "Ethernet" => format!("not RoCE but {}", port.link_layer),
            _ if port.state != "ACTIVE" => format!("in state {}", port.state),
            None if settings.gid_index.is_some() => "without a GID at --gid-index".to_owned(),
            None => "without a RoCE v2 GID of an address of this host".to_owned(),
            Some(_) if found.devices.len() >= MOST => format!("beyond {MOST} ports"),
            Some(gid) => {
                found.devices.push(Device {
                    name: port.device.clone(),
                    port: port.number,
                    address: gid.address().to_string(),
                    gid_index: gid.index,
                    is_software: port.is_software,
                });
                continue;
            }
        };
        let name = format!("{}:{}", port.device, port.number);
        match left_out.iter_mut().find(|(same, _)| *same == why) {
            Some((_, ports)) => ports.push(name),
            None => left_out.push((why, vec![name])),
        }
    }
    if !left_out.is_empty() {
        let reasons = left_out.iter().map(|(why, ports)| format!("{} {why}", ports.join(" ")));
        found.note = Some(reasons.collect::<Vec<_>>().join("; "));
    } else if found.devices.is_empty() {
        found.note = Some("--hca selects no RDMA device".to_owned());
    }
    found
}

#[cfg(feature = "verbs")]
#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use railscope_drive::rdma::verbs::inventory::{DevicePort, Gid};

    use super::{RailSettings, choose};

    fn port(device: &str, state: &str, addresses: &[(u8, &str, bool)]) -> DevicePort {
        let gids = addresses.iter().map(|&(index, address, is_roce_v2)| {
            let bytes = match address.parse().unwrap() {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            Gid { index, bytes, is_roce_v2 }
        });
        DevicePort {
            device: device.to_owned(),
            number: 1,
            state: state.to_owned(),
            link_layer: "Ethernet".to_owned(),
            is_software: device.starts_with("rxe"),
            gids: gids.collect(),
        }
    }

    #[test]
    fn routable_addresses_of_this_host_are_chosen() {
        let table = [
            (0, "fe80::1", false),
            (1, "fe80::1", true),
            (2, "10.0.0.1", false),
            (3, "10.0.0.1", true),
        ];
        let ports = [
            port("mlx5_0", "ACTIVE", &table),
            port("mlx5_1", "DOWN", &table),
            port("mlx5_2", "ACTIVE", &[(3, "10.0.9.9", true)]),
        ];
        let own = ["fe80::1".parse().unwrap(), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))].into();
        let found = choose(&ports, &RailSettings::default(), &own);
        let devices: Vec<_> =
            found.devices.iter().map(|at| (at.name.as_str(), at.gid_index)).collect();
        assert_eq!(devices, [("mlx5_0", 3)]);
        let note = found.note.unwrap();
        assert!(note.contains("mlx5_1:1 in state DOWN"), "{note}");
        assert!(note.contains("mlx5_2:1 without a RoCE v2 GID"), "{note}");
        let forced = RailSettings { gid_index: Some(1), ..RailSettings::default() };
        assert_eq!(choose(&ports, &forced, &own).devices[0].address, "fe80::1");
    }
}
