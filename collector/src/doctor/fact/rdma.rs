//! RDMA devices, from sysfs (Documentation/ABI/stable/sysfs-class-infiniband).

use std::net::Ipv6Addr;

use crate::doctor::tree::{Known, Tree};
use crate::ingest::counter::port::rate_bps;
use railscope_core::model::counter::PortState;
use railscope_core::model::node::{Gid, LinkLayer, RoceVersion};

/// Most entries of a GID table: mlx5 has 256.
const GID_LIMIT: u32 = 1_024;

/// Most entries of a P_Key table: mlx5 has 128.
const PARTITION_LIMIT: u32 = 256;

/// Most characters of a version or a name.
const NAME_LIMIT: usize = 64;

/// An RDMA device.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// `mlx5_0`.
    pub name: String,
    /// Driver of its PCIe function: `mlx5_core`, `bnxt_en`, `efa`; `None` for software devices.
    pub driver: Option<String>,
    /// Address of its PCIe function: `0000:1a:00.0`.
    pub function: Option<String>,
    /// Version of its firmware.
    pub firmware: Option<String>,
    /// The board: `MT_0000000838`. Boards alike have one PSID.
    pub board: Option<String>,
    /// Hardware as the driver names it: `MT4129`.
    pub model: Option<String>,
    /// GUID of the card that its functions share.
    pub system: Option<String>,
    /// Name of its character device: `uverbs0`.
    pub uverbs: Option<String>,
    /// Its ports, by number.
    pub ports: Vec<Port>,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// From 1.
    pub number: u32,
    /// State of its link.
    pub state: Option<PortState>,
    /// State of its physical link as the kernel names it: `LinkUp`, `Polling`, `Disabled`.
    pub physical: Option<String>,
    /// Rate of its link, bits per second; `None` without a link.
    pub rate_bps: Option<u64>,
    /// What it speaks.
    pub link_layer: Option<LinkLayer>,
    /// Its network interface.
    pub netdev: Option<String>,
    /// GIDs that are in use.
    pub gids: Vec<Gid>,
    /// Its LID; `None` where it cannot be read.
    pub lid: Option<u64>,
    /// LID of the subnet manager that set it up.
    pub manager_lid: Option<u64>,
    /// Its P_Keys that are in use, by index.
    pub partitions: Vec<(u32, u16)>,
    /// Traffic class that the driver forces on all its packets (`tc/PORT/traffic_class` of MLNX_OFED).
    pub traffic_class: Option<String>,
}

impl Device {
    /// The name for people: `mlx5_0`, `mlx5_0 port 2`.
    #[must_use]
    pub fn port_name(&self, port: &Port) -> String {
        let netdev = port.netdev.as_deref();
        railscope_core::link::tool::node::port_name(&self.name, port.number, netdev)
    }

    /// Whether it is Amazon's: SRD, neither RoCE nor InfiniBand.
    #[must_use]
    pub fn is_efa(&self) -> bool {
        self.driver.as_deref() == Some("efa")
    }
}

impl Port {
    /// Whether it carries data.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.state, Some(PortState::Active | PortState::ActiveDefer))
    }

    /// Whether it speaks RoCE.
    #[must_use]
    pub fn is_roce(&self) -> bool {
        self.link_layer == Some(LinkLayer::Ethernet)
    }

    /// The GID that NCCL takes from 2.21 on: of RoCE v2, routable, IPv4 before IPv6.
    #[must_use]
    pub fn best_gid(&self) -> Option<&Gid> {
        let routable = || self.gids.iter().filter(|gid| gid.is_routable());
        routable().find(|gid| gid.gid.to_ipv4_mapped().is_some()).or_else(|| routable().next())
    }
}

/// The devices of a node, by name.
///
/// # Errors
///
/// When sysfs has no list of them: no RDMA driver is loaded.
pub fn read(tree: &Tree) -> Known<Vec<Device>> {
    let names = tree.names("/sys/class/infiniband")?;
    Ok(names.into_iter().map(|name| device(tree, name)).collect())
}

fn device(tree: &Tree, name: String) -> Device {
    let folder = format!("/sys/class/infiniband/{name}");
    let text = |file: &str| {
        let text = tree.text(&format!("{folder}/{file}")).ok()?;
        let short: String = text.chars().take(NAME_LIMIT).collect();
        Some(short).filter(|text| !text.is_empty())
    };
    let ports = tree.names(&format!("{folder}/ports")).unwrap_or_default();
    let mut ports: Vec<Port> = ports
        .iter()
        .filter_map(|number| Some(port(tree, &name, &folder, number.parse().ok()?)))
        .collect();
    ports.sort_unstable_by_key(|port| port.number);
    let uverbs = tree.names(&format!("{folder}/device/infiniband_verbs")).ok();
    Device {
        driver: tree.link_name(&format!("{folder}/device/driver")),
        function: tree.link_name(&format!("{folder}/device")).filter(|name| name.contains(':')),
        firmware: text("fw_ver"),
        board: text("board_id"),
        model: text("hca_type"),
        system: text("sys_image_guid").filter(|guid| guid.bytes().any(|b| !b"0:".contains(&b))),
        uverbs: uverbs
            .and_then(|names| names.into_iter().next())
            .or_else(|| uverbs_of(tree, &name)),
        ports,
        name,
    }
}

/// Software devices have no `device/infiniband_verbs`; `/sys/class/infiniband_verbs` lists all.
fn uverbs_of(tree: &Tree, device: &str) -> Option<String> {
    let all = tree.names("/sys/class/infiniband_verbs").ok()?;
    all.into_iter().find(|name| {
        let ibdev = tree.text(&format!("/sys/class/infiniband_verbs/{name}/ibdev"));
        ibdev.is_ok_and(|ibdev| ibdev == device)
    })
}

fn port(tree: &Tree, device: &str, folder: &str, number: u32) -> Port {
    let at = format!("{folder}/ports/{number}");
    let text = |file: &str| tree.text(&format!("{at}/{file}")).ok();
    let gids = gids(tree, device, &at, number);
    let named = gids.iter().find_map(|gid| gid.netdev.clone());
    let state = text("state").and_then(|text| text.split(':').next()?.trim().parse().ok());
    let physical =
        text("phys_state").and_then(|text| Some(text.split_once(':')?.1.trim().to_owned()));
    let lid = |file: &str| tree.number(&format!("{at}/{file}")).ok();
    Port {
        lid: lid("lid"),
        manager_lid: lid("sm_lid"),
        partitions: partitions(tree, &at),
        number,
        state: state.and_then(PortState::from_number),
        physical,
        rate_bps: text("rate").as_deref().and_then(rate_bps),
        link_layer: text("link_layer").as_deref().and_then(LinkLayer::from_name),
        netdev: named.or_else(|| only_netdev(tree, folder)),
        gids,
        traffic_class: tree.text(&format!("{folder}/tc/{number}/traffic_class")).ok(),
    }
}

fn only_netdev(tree: &Tree, folder: &str) -> Option<String> {
    let mut names = tree.names(&format!("{folder}/device/net")).ok()?;
    let only = names.pop();
    only.filter(|_| names.is_empty()).or_else(|| {
        // Software devices name their interface in `parent`.
        tree.text(&format!("{folder}/parent")).ok().filter(|name| !name.is_empty())
    })
}

/// P_Keys that are in use; an unused entry is 0.
fn partitions(tree: &Tree, at: &str) -> Vec<(u32, u16)> {
    let keys = (0..PARTITION_LIMIT).map_while(|index| {
        let key = tree.number(&format!("{at}/pkeys/{index}")).ok()?;
        Some((index, u16::try_from(key).ok()?))
    });
    keys.filter(|(_, key)| *key != 0).collect()
}

/// GIDs that are in use; an unused entry is `::`, or cannot be read.
fn gids(tree: &Tree, device: &str, at: &str, port: u32) -> Vec<Gid> {
    let texts = (0..GID_LIMIT).map(|index| (index, tree.text(&format!("{at}/gids/{index}"))));
    let texts = texts.take_while(|(index, text)| text.is_ok() || *index == 0);
    let gids =
        texts.filter_map(|(index, text)| Some((index, text.ok()?.parse::<Ipv6Addr>().ok()?)));
    let used = gids.filter(|(_, gid)| !gid.is_unspecified());
    used.map(|(index, gid)| {
        let attribute = |name: &str| tree.text(&format!("{at}/gid_attrs/{name}/{index}")).ok();
        let version = match attribute("types").as_deref() {
            // Linux calls RoCE v1 and InfiniBand alike.
            Some("IB/RoCE v1") => Some(RoceVersion::V1),
            Some("RoCE v2") => Some(RoceVersion::V2),
            _ => None,
        };
        let netdev = attribute("ndevs").filter(|name| !name.is_empty());
        Gid { device: device.to_owned(), port, index, gid, version, netdev }
    })
    .collect()
}
