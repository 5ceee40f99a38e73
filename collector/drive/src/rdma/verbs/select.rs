//! Which port and GID a rank uses.
//!
//! As in NET/IB, ports must be active, Ethernet, and allowed by `NCCL_IB_HCA`. Among these, the GID
//! with the rank's address is used. `NCCL_IB_GID_INDEX` selects that table entry instead, and
//! `NCCL_IB_HCA` alone accepts the port's own RoCE v2 address: the ranks' addresses and their data
//! may use different networks.

use std::cmp::Reverse;
use std::fmt::Write;

use super::VerbsSettings;
use super::hca::HcaList;
use super::inventory::{DevicePort, FOLDER, Gid};
use crate::{DriveError, Result};

/// A port and its source address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `mlx5_0`, `rxe0`
    pub device: String,
    /// Port number, from 1.
    pub port: u8,
    /// The address.
    pub gid: Gid,
}

/// Selects among the ports of this system (`inventory::ports`).
///
/// # Errors
/// [`DriveError::Unusable`]: there is no device, or none matches; the text lists what exists.
pub fn select(ports: &[DevicePort], settings: &VerbsSettings) -> Result<Choice> {
    if ports.is_empty() {
        return Err(no_device());
    }
    let list = HcaList::parse(settings.hca.as_deref().unwrap_or_default());
    let usable = ports.iter().filter(|port| {
        let is_up = port.state == "ACTIVE" && port.link_layer == "Ethernet";
        is_up && list.accepts(&port.device, port.number)
    });
    let gids = usable.flat_map(|port| port.gids.iter().map(move |gid| (port, gid)));
    let fitting = gids.filter(|(_, gid)| fits(gid, settings));
    // The first of the best: `min_by_key` keeps the order of equals.
    let best = fitting.min_by_key(|(_, gid)| Reverse(rank(gid, settings)));
    let (port, gid) = best.ok_or_else(|| no_gid(ports, settings))?;
    Ok(Choice { device: port.device.clone(), port: port.number, gid: *gid })
}

fn fits(gid: &Gid, settings: &VerbsSettings) -> bool {
    match settings.gid_index {
        Some(index) => gid.index == index,
        None => gid.is_roce_v2 && (gid.address() == settings.address || settings.hca.is_some()),
    }
}

/// Preference: the rank's address, then IPv4.
fn rank(gid: &Gid, settings: &VerbsSettings) -> (bool, bool) {
    (gid.address() == settings.address.to_canonical(), gid.address().is_ipv4())
}

fn no_device() -> DriveError {
    DriveError::Unusable(format!(
        "no RDMA device exists: {FOLDER} is missing or empty. One in software: `modprobe rdma_rxe`, then \
         `rdma link add rxe0 type rxe netdev eth0`; a container also needs /dev/infiniband. \
         Without any device: --transport soft"
    ))
}

fn no_gid(ports: &[DevicePort], settings: &VerbsSettings) -> DriveError {
    let mut text = match (settings.gid_index, &settings.hca) {
        (Some(index), _) => format!("no usable RDMA port has a GID at NCCL_IB_GID_INDEX={index}"),
        (None, Some(_)) => "no usable RDMA port has a RoCE v2 GID".to_owned(),
        (None, None) => format!(
            "no usable RDMA port has the RoCE v2 GID of this rank's address {}: give the rank the \
             address of a port's netdev, or name the port by NCCL_IB_HCA",
            settings.address
        ),
    };
    if let Some(hca) = &settings.hca {
        // Writing to a string cannot fail.
        let _ = write!(text, " (NCCL_IB_HCA={hca})");
    }
    text.push_str("; usable is what is ACTIVE and Ethernet; there are:");
    for port in ports {
        let _ = write!(text, "\n  {port}");
    }
    DriveError::Unusable(text)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::{DevicePort, Gid, VerbsSettings, select};

    fn gid(index: u8, address: &str, is_roce_v2: bool) -> Gid {
        let bytes = match address.parse().unwrap() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        Gid { index, bytes, is_roce_v2 }
    }

    /// Two ports of a card, each with mlx5's GID table: both versions of each address.
    fn ports() -> Vec<DevicePort> {
        let port = |device: &str, last: u8, state: &str| DevicePort {
            is_software: false,
            device: device.to_owned(),
            number: 1,
            state: state.to_owned(),
            link_layer: "Ethernet".to_owned(),
            gids: vec![
                gid(
                    0,
                    &Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)).to_string(),
                    false,
                ),
                gid(1, &Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)).to_string(), true),
                gid(2, &Ipv4Addr::new(10, 0, 0, last).to_string(), false),
                gid(3, &Ipv4Addr::new(10, 0, 0, last).to_string(), true),
            ],
        };
        let mut down = port("mlx5_2", 2, "DOWN");
        down.number = 2;
        vec![port("mlx5_0", 1, "ACTIVE"), port("mlx5_1", 2, "ACTIVE"), down]
    }

    fn settings(address: &str, hca: Option<&str>, gid_index: Option<u8>) -> VerbsSettings {
        let address = address.parse().unwrap();
        VerbsSettings { address, hca: hca.map(str::to_owned), gid_index }
    }

    /// The selection, as `device:port:index`.
    fn chosen(address: &str, hca: Option<&str>, gid_index: Option<u8>) -> Result<String, String> {
        let choice = select(&ports(), &settings(address, hca, gid_index));
        choice
            .map(|choice| format!("{}:{}:{}", choice.device, choice.port, choice.gid.index))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_address_decides() {
        assert_eq!(chosen("10.0.0.2", None, None).unwrap(), "mlx5_1:1:3");
        assert_eq!(chosen("fe80::1", None, None).unwrap(), "mlx5_0:1:1");
        // Several ports are allowed: the one with the address is used.
        assert_eq!(chosen("10.0.0.2", Some("mlx5"), None).unwrap(), "mlx5_1:1:3");
        assert_eq!(chosen("10.0.0.2", None, Some(2)).unwrap(), "mlx5_1:1:2");
    }

    #[test]
    fn a_named_port_may_be_on_another_network() {
        assert_eq!(chosen("192.168.0.7", Some("^mlx5_0"), None).unwrap(), "mlx5_1:1:3");
        assert_eq!(chosen("192.168.0.7", None, Some(1)).unwrap(), "mlx5_0:1:1");
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        let said = chosen("192.168.0.7", None, None).unwrap_err();
        assert!(
            said.starts_with(
                "no usable RDMA port has the RoCE v2 GID of this rank's address 192.168.0.7"
            ),
            "{said}"
        );
        assert!(
            said.contains("\n  mlx5_1 port 1 (ACTIVE, Ethernet): [0] fe80::2 not RoCE v2"),
            "{said}"
        );
        assert!(said.contains("\n  mlx5_2 port 2 (DOWN, Ethernet):"), "{said}");

        let said = chosen("10.0.0.2", Some("=mlx5_2"), None).unwrap_err();
        assert!(
            said.starts_with("no usable RDMA port has a RoCE v2 GID (NCCL_IB_HCA==mlx5_2)"),
            "{said}"
        );
        let said = chosen("10.0.0.2", None, Some(9)).unwrap_err();
        assert!(said.starts_with("no usable RDMA port has a GID at NCCL_IB_GID_INDEX=9"), "{said}");
    }

    #[test]
    fn without_any_device_the_error_says_how_to_get_one() {
        let said = select(&[], &settings("10.0.0.1", None, None)).unwrap_err().to_string();
        for part in [
            "no RDMA device exists",
            "/sys/class/infiniband",
            "rdma link add rxe0 type rxe netdev eth0",
            "rdma_rxe",
            "/dev/infiniband",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
