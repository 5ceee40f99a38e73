//! Network interfaces (Documentation/ABI/testing/sysfs-class-net), with DCB and pause over the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::dcb::{self, Dcb};
use super::rdma::Device;
use crate::doctor::tree::{Known, Missing, Tree, Why};
use crate::ingest::counter::ethtool::{Ethtool, LinkPause};

/// A network interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// `ens1f0np0`.
    pub name: String,
    /// Driver of its PCIe function; `None` for virtual interfaces.
    pub driver: Option<String>,
    /// Address of its PCIe function.
    pub function: Option<String>,
    /// The bond that it belongs to.
    pub bond: Option<String>,
    /// Its members, if it is a bond.
    pub members: Vec<String>,
    /// `up`, `down`, `unknown`, `lowerlayerdown`.
    pub state: Option<String>,
    /// Largest packet, bytes.
    pub mtu: Option<u32>,
    /// Megabits per second; `None` without a link.
    pub speed_mbps: Option<u64>,
    /// How often its carrier came or went since boot.
    pub carrier_changes: Option<u64>,
    /// Networks that are routed to it without a gateway: address and mask.
    pub networks: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// `arp_ignore`, `arp_announce`, `rp_filter`: the larger of the interface's and `all`.
    pub arp: Arp,
    /// Priorities and flow control; asked for interfaces of RDMA devices.
    pub dcb: Known<Dcb>,
    /// Whether link-level pause (802.3x) is on.
    pub pause: Known<LinkPause>,
    /// By priority: whether the NIC answers CE with CNPs, and slows down on CNPs (`ecn/roce_np`,
    /// `ecn/roce_rp` of MLNX_OFED).
    pub ecn: Known<Ecn>,
}

/// How the kernel answers ARP on hosts with several interfaces of one network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arp {
    /// 1 and more: only for addresses of the interface that the request came in by.
    pub ignore: Option<u64>,
    /// 2: the best address for the target.
    pub announce: Option<u64>,
    /// 1: packets are dropped unless the route back is the same interface.
    pub filter: Option<u64>,
}

/// Congestion control by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn {
    /// Answers CE with CNPs.
    pub notifies: [bool; 8],
    /// Slows down on CNPs.
    pub reacts: [bool; 8],
}

/// The interfaces of a node but the loopback.
///
/// # Errors
///
/// When sysfs does not list them.
pub fn read(tree: &Tree, devices: &[Device]) -> Known<Vec<Interface>> {
    let names = tree.names("/sys/class/net")?;
    let networks = networks(tree);
    let members = |netdev: &str| {
        let members =
            tree.text(&format!("/sys/class/net/{netdev}/bonding/slaves")).unwrap_or_default();
        members.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let named =
        devices.iter().flat_map(|device| &device.ports).filter_map(|port| port.netdev.clone());
    let of_rdma: BTreeSet<String> = named
        .flat_map(|netdev| {
            let mut all = members(&netdev);
            all.push(netdev);
            all
        })
        .collect();
    // Folders only: `bonding_masters` is a file.
    let names = names
        .into_iter()
        .filter(|name| name != "lo" && tree.has(&format!("/sys/class/net/{name}/mtu")));
    let ethtool = tree.of_running_system("link-level pause (ethtool -a)").and_then(|()| {
        Ethtool::open().map_err(|error| Missing::of_error("a socket for ethtool", &error))
    });
    Ok(names.map(|name| interface(tree, name, &networks, &of_rdma, &ethtool)).collect())
}

fn interface(
    tree: &Tree,
    name: String,
    networks: &BTreeMap<String, Vec<(Ipv4Addr, Ipv4Addr)>>,
    of_rdma: &BTreeSet<String>,
    ethtool: &Known<Ethtool>,
) -> Interface {
    let at = format!("/sys/class/net/{name}");
    let number = |file: &str| tree.number(&format!("{at}/{file}")).ok();
    let not_asked = || Missing { what: format!("{name} (no RDMA device)"), why: Why::Absent };
    let is_of_rdma = of_rdma.contains(&name);
    let pause = ethtool.as_ref().map_err(Clone::clone).and_then(|ethtool| {
        let asked = || format!("link-level pause of {name} (ethtool -a {name})");
        ethtool.pause(&name).map_err(|error| Missing::of_error(asked(), &error))
    });
    Interface {
        driver: tree.link_name(&format!("{at}/device/driver")),
        function: tree.link_name(&format!("{at}/device")).filter(|name| name.contains(':')),
        bond: tree
            .link_name(&format!("{at}/master"))
            .filter(|master| tree.has(&format!("/sys/class/net/{master}/bonding"))),
        members: {
            let members = tree.text(&format!("{at}/bonding/slaves")).unwrap_or_default();
            members.split_whitespace().map(str::to_owned).collect()
        },
        state: tree.text(&format!("{at}/operstate")).ok(),
        mtu: number("mtu").and_then(|mtu| u32::try_from(mtu).ok()),
        // -1 without a link.
        speed_mbps: number("speed").filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX)),
        carrier_changes: number("carrier_changes"),
        networks: networks.get(&name).cloned().unwrap_or_default(),
        arp: arp(tree, &name),
        dcb: if is_of_rdma { dcb::read(tree, &name) } else { Err(not_asked()) },
        pause: if is_of_rdma { pause } else { Err(not_asked()) },
        ecn: ecn(tree, &at),
        name,
    }
}

/// Routes without a gateway (`/proc/net/route`: hexadecimal in the byte order of the host).
fn networks(tree: &Tree) -> BTreeMap<String, Vec<(Ipv4Addr, Ipv4Addr)>> {
    let mut networks: BTreeMap<String, Vec<(Ipv4Addr, Ipv4Addr)>> = BTreeMap::new();
    for line in tree.text("/proc/net/route").unwrap_or_default().lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, network, gateway, _, _, _, _, mask, ..] = words.as_slice() else { continue };
        let address = |word: &str| {
            u32::from_str_radix(word, 16).ok().map(|bits| Ipv4Addr::from(bits.to_ne_bytes()))
        };
        let (Some(network), Some(mask)) = (address(network), address(mask)) else { continue };
        if *gateway == "00000000" && !mask.is_unspecified() {
            networks.entry((*name).to_owned()).or_default().push((network, mask));
        }
    }
    networks
}

/// The kernel uses the larger of both (Documentation/networking/ip-sysctl.rst).
fn arp(tree: &Tree, name: &str) -> Arp {
    let larger = |setting: &str| {
        let of = |interface: &str| {
            tree.number(&format!("/proc/sys/net/ipv4/conf/{interface}/{setting}")).ok()
        };
        of(name).max(of("all"))
    };
    Arp {
        ignore: larger("arp_ignore"),
        announce: larger("arp_announce"),
        filter: larger("rp_filter"),
    }
}

fn ecn(tree: &Tree, at: &str) -> Known<Ecn> {
    let of = |side: &str| -> Known<[bool; 8]> {
        let mut is_on = [false; 8];
        for (priority, on) in is_on.iter_mut().enumerate() {
            *on = tree.number(&format!("{at}/ecn/{side}/enable/{priority}"))? != 0;
        }
        Ok(is_on)
    };
    Ok(Ecn { notifies: of("roce_np")?, reacts: of("roce_rp")? })
}
