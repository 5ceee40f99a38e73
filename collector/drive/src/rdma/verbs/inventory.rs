//! The system's RDMA ports, from sysfs.
//!
//! NCCL's NET/IB reads GID types there, too (`src/transport/net_ib.cc`: `ncclIbRoceGetVersionNum`).
//! Kernel: `Documentation/ABI/stable/sysfs-class-infiniband`.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// Where Linux lists RDMA devices.
pub const FOLDER: &str = "/sys/class/infiniband";

/// A port of an RDMA device, as sysfs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePort {
    /// `mlx5_0`, `rxe0`
    pub device: String,
    /// Port number, from 1.
    pub number: u8,
    /// `ACTIVE`, `DOWN`, ...
    pub state: String,
    /// `Ethernet` (RoCE), `InfiniBand`
    pub link_layer: String,
    /// Whether the host's CPUs do what a NIC would: soft-RoCE (rxe).
    pub is_software: bool,
    /// In table order, without empty entries.
    pub gids: Vec<Gid>,
}

/// An address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Index in the port's table.
    pub index: u8,
    /// The GID; IPv4 is mapped: `::ffff:10.0.0.1`.
    pub bytes: [u8; 16],
    /// Whether it is for RoCE v2, over UDP.
    pub is_roce_v2: bool,
}

impl Gid {
    /// The address; a mapped one is IPv4.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self.bytes)).to_canonical()
    }
}

/// All ports of the devices in `folder` ([`FOLDER`]), by name and number. Unreadable ones are left
/// out: devices come and go.
#[must_use]
pub fn ports(folder: &Path) -> Vec<DevicePort> {
    let mut ports = Vec::new();
    for device in names(folder) {
        let of_device = folder.join(&device).join("ports");
        for name in names(&of_device) {
            let Ok(number) = name.parse() else { continue };
            let at = of_device.join(&name);
            ports.push(DevicePort {
                device: device.clone(),
                number,
                // `4: ACTIVE`
                state: text(&at.join("state")).split(": ").nth(1).unwrap_or_default().to_owned(),
                link_layer: text(&at.join("link_layer")),
                is_software: is_software(&folder.join(&device)),
                gids: gids(&at),
            });
        }
    }
    ports
}

/// rxe names the network interface below it in `parent` (`drivers/infiniband/sw/rxe/rxe_verbs.c`); since
/// Linux 5.11 it has no bus, either.
fn is_software(device: &Path) -> bool {
    let is_virtual = |at: PathBuf| at.components().any(|part| part.as_os_str() == "virtual");
    device.join("parent").exists() || device.canonicalize().is_ok_and(is_virtual)
}

fn gids(port: &Path) -> Vec<Gid> {
    let indices = names(&port.join("gids")).into_iter().filter_map(|name| name.parse().ok());
    let read = indices.filter_map(|index: u8| {
        let name = index.to_string();
        let bytes = text(&port.join("gids").join(&name)).parse::<Ipv6Addr>().ok()?.octets();
        // An empty entry is all zeros, and its type cannot be read.
        let kind = fs::read_to_string(port.join("gid_attrs/types").join(&name)).ok()?;
        let is_used = bytes != [0; 16];
        is_used.then(|| Gid { index, bytes, is_roce_v2: kind.trim() == "RoCE v2" })
    });
    read.collect()
}

/// Names in a folder, with `mlx5_2` before `mlx5_10`.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

impl fmt::Display for DevicePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {} ({}, {}):", self.device, self.number, self.state, self.link_layer)?;
        if self.gids.is_empty() {
            return f.write_str(" no GID");
        }
        self.gids.iter().try_for_each(|gid| write!(f, " {gid}"))
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_roce_v2 { "RoCE v2" } else { "not RoCE v2" };
        write!(f, "[{}] {} {kind}", self.index, Ipv6Addr::from(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Gid, ports};

    /// A sysfs tree as the kernel shows it, with an empty entry at index 2.
    fn sysfs(folder: &Path, device: &str) {
        let port = folder.join(device).join("ports/1");
        fs::create_dir_all(port.join("gids")).unwrap();
        fs::create_dir_all(port.join("gid_attrs/types")).unwrap();
        fs::write(port.join("state"), "4: ACTIVE\n").unwrap();
        fs::write(port.join("link_layer"), "Ethernet\n").unwrap();
        for (index, gid, kind) in [
            (0, "fe80:0000:0000:0000:0064:00ff:fe00:0001", "IB/RoCE v1\n"),
            (1, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2\n"),
            (10, "0000:0000:0000:0000:0000:ffff:0a00:0102", "RoCE v2\n"),
        ] {
            fs::write(port.join(format!("gids/{index}")), format!("{gid}\n")).unwrap();
            fs::write(port.join(format!("gid_attrs/types/{index}")), kind).unwrap();
        }
        fs::write(port.join("gids/2"), "0000:0000:0000:0000:0000:0000:0000:0000\n").unwrap();
    }

    #[test]
    fn ports_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for device in ["mlx5_10", "mlx5_2"] {
            sysfs(folder.path(), device);
        }
        let found = ports(folder.path());
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["mlx5_2", "mlx5_10"].map(|device| format!(
                "{device} port 1 (ACTIVE, Ethernet): [0] fe80::64:ff:fe00:1 not RoCE v2 \
                 [1] ::ffff:10.0.0.1 RoCE v2 [10] ::ffff:10.0.1.2 RoCE v2"
            ))
        );
        let mapped = Gid { index: 1, ..found[0].gids[1] };
        assert_eq!(mapped.address().to_string(), "10.0.0.1");
    }

    #[test]
    fn no_folder_means_no_port() {
        assert_eq!(ports(Path::new("/nowhere")), []);
    }
}
