//! A port of an RDMA device in sysfs: its names and its files.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ingest::kernel_file;
use railscope_core::model::counter::{NicSetup, PortLink, PortState};

/// Most files read of one port.
const FILE_LIMIT: usize = 512;
/// Most entries read of its GID table.
const GID_LIMIT: usize = 256;

/// A port of an RDMA device whose counters are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicPort {
    /// RDMA device, such as `mlx5_0`.
    pub device: String,
    /// Port number of the device, from 1.
    pub number: u32,
    /// Driver of the device's PCI function, such as `mlx5_core`, `bnxt_en`, `ice` or `efa`; `None`
    /// for devices without hardware.
    pub driver: Option<String>,
    /// Its network interface.
    pub netdev: Option<String>,
    /// Members of its interface, if that is a bond, which has no counters itself.
    pub members: Vec<String>,
    /// Addresses in its GID table; empty for InfiniBand, whose GIDs are not IP addresses.
    pub addresses: Vec<IpAddr>,
    /// What the device is and how the port is set up.
    pub setup: NicSetup,
    /// The device repeats its values within this time (`hw_counters/lifespan`); zero if unknown.
    pub lifespan: Duration,
    folder: PathBuf,
}

impl NicPort {
    /// The ports of the device in `folder`, in order; `net` is where sysfs has network interfaces.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub(super) fn of_device(device: &str, folder: &Path, net: &Path) -> io::Result<Vec<Self>> {
        let driver = std::fs::read_link(folder.join("device/driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let mut ports = Vec::new();
        for name in kernel_file::names(&folder.join("ports"))? {
            let Ok(number) = name.parse() else { continue };
            let port = folder.join("ports").join(&name);
            let netdev = netdev(folder, &port);
            ports.push(Self {
                device: device.to_owned(),
                number,
                driver: driver.clone(),
                members: netdev.as_ref().map_or_else(Vec::new, |netdev| members(net, netdev)),
                setup: setup(folder, &port, net, netdev.as_deref()),
                netdev,
                addresses: addresses(&port),
                lifespan: lifespan(&port),
                folder: port,
            });
        }
        ports.sort_unstable_by_key(|port| port.number);
        Ok(ports)
    }

    /// The link; `None` if the port does not report it.
    pub(super) fn link(&self) -> Option<PortLink> {
        // EFA's driver always reports it as active (`efa_query_port`).
        if self.driver.as_deref() == Some("efa") {
            return None;
        }
        let state = kernel_file::text(&self.folder.join("state")).ok()?;
        let (number, _) = state.split_once(':')?;
        let state = PortState::from_number(number.parse().ok()?)?;
        let rate = kernel_file::text(&self.folder.join("rate")).ok();
        Some(PortLink { state, rate_bps: rate.as_deref().and_then(rate_bps) })
    }

    /// Adds the values of one folder of counters, except for names already present. Returns the
    /// number of unreadable files.
    pub(super) fn read(&self, counters: &str, values: &mut Vec<(String, u64)>) -> u64 {
        let folder = self.folder.join(counters);
        let Ok(names) = kernel_file::names(&folder) else { return 0 };
        let mut unreadable = 0;
        for name in names.into_iter().take(FILE_LIMIT) {
            if name == LIFESPAN || values.iter().any(|(known, _)| *known == name) {
                continue;
            }
            match kernel_file::text(&folder.join(&name)) {
                Ok(text) => values.extend(value(&text).map(|value| (name, value))),
                Err(_) => unreadable += 1,
            }
        }
        unreadable
    }
}

const LIFESPAN: &str = "lifespan";

/// A value. Devices without a performance management agent report `N/A (no PMA)`; ionic's driver
/// reports the largest number where it has no value.
fn value(text: &str) -> Option<u64> {
    text.parse().ok().filter(|value| *value != u64::MAX)
}

fn lifespan(port: &Path) -> Duration {
    let text = kernel_file::text(&port.join("hw_counters").join(LIFESPAN));
    let milliseconds = text.ok().and_then(|text| text.parse().ok());
    Duration::from_millis(milliseconds.unwrap_or(0))
}

/// Bits per second of `400 Gb/sec (4X NDR)`; `None` for a port without a link, whose rate is
/// meaningless.
#[must_use]
pub fn rate_bps(text: &str) -> Option<u64> {
    let (number, _) = text.split_once(" Gb/sec")?;
    let gigabits: f64 = number.parse().ok()?;
    (gigabits > 0.0).then_some((gigabits * 1e9).round() as u64)
}

/// The interface that the GID table names, else the only one of the device.
fn netdev(device: &Path, port: &Path) -> Option<String> {
    let names = port.join("gid_attrs/ndevs");
    // Unused entries cannot be read.
    let named = (0..GID_LIMIT).map(|at| names.join(at.to_string()));
    let named = named.take_while(|path| path.exists());
    let named =
        named.filter_map(|path| kernel_file::text(&path).ok()).find(|name| !name.is_empty());
    named.or_else(|| match kernel_file::names(&device.join("device/net")).ok()?.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    })
}

/// The members of a bond; empty for other interfaces.
fn members(net: &Path, netdev: &str) -> Vec<String> {
    let members = kernel_file::text(&net.join(netdev).join("bonding/slaves")).unwrap_or_default();
    members.split_whitespace().map(str::to_owned).collect()
}

/// What sysfs reports of a port; devices without hardware have no firmware.
fn setup(device: &Path, port: &Path, net: &Path, netdev: Option<&str>) -> NicSetup {
    let known = |path: PathBuf| kernel_file::text(&path).ok().filter(|text| !text.is_empty());
    let of_netdev = |netdev: &str| known(net.join(netdev).join("mtu"));
    let of_device = |netdev: &str| known(device.join("device/net").join(netdev).join("mtu"));
    let mtu = netdev.and_then(|netdev| of_netdev(netdev).or_else(|| of_device(netdev)));
    NicSetup {
        model: known(device.join("hca_type")),
        firmware: known(device.join("fw_ver")),
        mtu: mtu.and_then(|mtu| mtu.parse().ok()),
        link_layer: known(port.join("link_layer")),
    }
}

/// The IP addresses of a RoCE port: GIDs are IPv6 addresses, or IPv4-mapped ones (RFC 4291,
/// 2.5.5.2).
fn addresses(port: &Path) -> Vec<IpAddr> {
    let link_layer = kernel_file::text(&port.join("link_layer")).unwrap_or_default();
    if link_layer != "Ethernet" {
        return Vec::new();
    }
    let gids = (0..GID_LIMIT).map(|at| port.join("gids").join(at.to_string()));
    let gids = gids.map_while(|path| kernel_file::text(&path).ok());
    let gids =
        gids.filter_map(|gid| gid.parse().ok()).filter(|gid: &Ipv6Addr| !gid.is_unspecified());
    let addresses: BTreeSet<IpAddr> = gids.map(|gid| IpAddr::V6(gid).to_canonical()).collect();
    addresses.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_rates_as_the_kernel_writes_them() {
        assert_eq!(value("18446744073709551614"), Some(u64::MAX - 1));
        for absent in ["N/A (no PMA)", "18446744073709551615", "-1", ""] {
            assert_eq!(value(absent), None, "{absent}");
        }
        assert_eq!(rate_bps("400 Gb/sec (4X NDR)"), Some(400_000_000_000));
        assert_eq!(rate_bps("2.5 Gb/sec (1X SDR)"), Some(2_500_000_000));
        assert_eq!(rate_bps("0 Gb/sec"), None);
        assert_eq!(rate_bps("fast"), None);
    }
}
