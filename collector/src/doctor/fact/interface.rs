//! Network interfaces (Documentation/ABI/testing/sysfs-class-net), with DCB and pause over the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    /// Networks that are routed to it without a gateway, link-local IPv6 aside.
    pub networks: Vec<Network>,
    /// `arp_ignore`, `arp_announce`, `rp_filter`: the larger of the interface's and `all`.
    pub arp: Arp,
    /// Priorities and flow control; asked for interfaces of RDMA devices.
    pub dcb: Known<Dcb>,
    /// Whether link-level pause (802.3x) is on.
    pub pause: Known<LinkPause>,
    /// By priority: whether the NIC answers CE with CNPs, and slows down on CNPs (`ecn/roce_np`,
    /// `ecn/roce_rp` of MLNX_OFED).
    pub ecn: Known<Ecn>,
    /// How its CNPs are marked (`cc_params` of mlx5 in debugfs; root).
    pub cnp: Known<Cnp>,
}

/// How a NIC marks the CNPs that it sends (Linux drivers/infiniband/hw/mlx5/cong.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnp {
    /// `np_cnp_dscp`.
    pub dscp: u64,
    /// `np_cnp_prio`.
    pub priority: u64,
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    /// Its first address.
    pub address: IpAddr,
    /// Bits of its prefix.
    pub prefix: u32,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
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
    networks: &Networks,
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
        cnp: cnp(tree, &at),
        name,
    }
}

/// Networks by interface.
type Networks = BTreeMap<String, Vec<Network>>;

/// Routes without a gateway.
fn networks(tree: &Tree) -> Networks {
    let mut networks = Networks::new();
    let v4 = tree.text("/proc/net/route").unwrap_or_default();
    let v6 = tree.text("/proc/net/ipv6_route").unwrap_or_default();
    let routes = v4.lines().skip(1).filter_map(route).chain(v6.lines().filter_map(route_v6));
    for (name, network) in routes {
        networks.entry(name.to_owned()).or_default().push(network);
    }
    networks
}

/// A line of `/proc/net/route`: hexadecimal in the byte order of the host.
fn route(line: &str) -> Option<(&str, Network)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, network, "00000000", _, _, _, _, mask, ..] = words.as_slice() else { return None };
    let address = |word: &str| {
        u32::from_str_radix(word, 16).ok().map(|bits| Ipv4Addr::from(bits.to_ne_bytes()))
    };
    let prefix = u32::from(address(mask)?).leading_ones();
    let address = IpAddr::V4(address(network)?);
    (prefix > 0).then_some((*name, Network { address, prefix }))
}

/// A line of `/proc/net/ipv6_route`: destination, prefix, source, its prefix, gateway, metric, two counts, flags, interface,
/// all hexadecimal. Addresses of our own and multicast are routes, too.
fn route_v6(line: &str) -> Option<(&str, Network)> {
    // RTF_LOCAL and RTF_REJECT (linux/ipv6_route.h, linux/route.h).
    const NOT_A_NETWORK: u32 = 0x8000_0200;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [network, prefix, _, _, gateway, _, _, _, flags, name] = words.as_slice() else {
        return None;
    };
    let address = |word: &str| u128::from_str_radix(word, 16).ok().map(Ipv6Addr::from);
    let (network, prefix) = (address(network)?, u32::from_str_radix(prefix, 16).ok()?);
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let is_direct = address(gateway)?.is_unspecified() && flags & NOT_A_NETWORK == 0;
    let is_network =
        (1..128).contains(&prefix) && !network.is_unicast_link_local() && !network.is_multicast();
    let network = Network { address: IpAddr::V6(network), prefix };
    (is_direct && is_network).then_some((*name, network))
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

fn cnp(tree: &Tree, at: &str) -> Known<Cnp> {
    let function = tree.link_name(&format!("{at}/device")).unwrap_or_default();
    let folder = format!("/sys/kernel/debug/mlx5/{function}/cc_params");
    let number = |file: &str| tree.number(&format!("{folder}/{file}"));
    Ok(Cnp { dscp: number("np_cnp_dscp")?, priority: number("np_cnp_prio")? })
}
