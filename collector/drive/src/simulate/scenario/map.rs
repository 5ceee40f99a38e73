//! The parts of a fabric by name: NICs, switches, and the links between their ports.
//!
//! `host2` is the NIC of a host on a fabric with one rail, `host2:mlx5_1` the one on rail 1
//! otherwise. `leaf0:host2` is a leaf's port towards a host, `leaf0:uplink1` towards `spine1`,
//! `spine1:leaf0` the other end.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::fabric::Fabric;

/// All parts of a fabric.
#[derive(Clone, Debug)]
pub struct Map {
    /// Host by host, rail by rail.
    pub nics: Vec<Nic>,
    /// Leaves, rail by rail, then spines.
    pub switches: Vec<String>,
    /// Links to hosts, then links between leaves and spines.
    pub links: Vec<Link>,
    /// Ports by name, each an end of a link.
    ports: BTreeMap<String, LinkEnd>,
    rails: u32,
}

/// A NIC and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Number of its host, from 0.
    pub host: u32,
    /// Number of its rail, from 0: its position in the host.
    pub rail: u32,
    /// `host2`, or `host2:mlx5_1`.
    pub name: String,
    /// Derived from rail and host: 10.1.0.3 for host 2 on rail 1.
    pub address: IpAddr,
    /// Locally administered.
    pub mac: [u8; 6],
}

/// A link between a NIC and a leaf, or between two switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The lower end, then the upper.
    pub ends: [MapPort; 2],
    /// The spine at its upper end, if it is between switches.
    pub spine: Option<usize>,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapPort {
    /// The node it belongs to.
    pub node: Node,
    /// Its full name: `leaf0:uplink1`.
    pub name: String,
}

/// A node: its index in [`Map::nics`] or [`Map::switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Index in [`Map::nics`].
    Nic(usize),
    /// Index in [`Map::switches`].
    Switch(usize),
}

/// Names a port by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Index in [`Map::links`].
    pub link: usize,
    /// Index in [`Link::ends`].
    pub end: usize,
}

impl Nic {
    /// The RDMA device name.
    #[must_use]
    pub fn device(&self) -> String {
        format!("mlx5_{}", self.rail)
    }

    /// The host's name.
    #[must_use]
    pub fn host_name(&self) -> String {
        format!("host{}", self.host)
    }
}

impl Map {
    /// The map of a fabric whose numbers were checked.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        let Fabric { hosts, rails, spines, .. } = *fabric;
        let group = fabric.hosts_per_leaf.max(1);
        let groups = hosts.div_ceil(group);
        let leaves = groups * rails;
        let names = (0..leaves).map(|leaf| format!("leaf{leaf}"));
        let switches = names.chain((0..spines).map(|spine| format!("spine{spine}"))).collect();
        let nics: Vec<Nic> = (0..hosts)
            .flat_map(|host| (0..rails).map(move |rail| nic(host, rail, rails)))
            .collect();
        let mut links = Vec::new();
        for (place, nic) in nics.iter().enumerate() {
            let leaf = nic.rail * groups + nic.host / group;
            let lower = MapPort { node: Node::Nic(place), name: nic.name.clone() };
            let name = format!("leaf{leaf}:{}", nic.host_name());
            let upper = MapPort { node: Node::Switch(leaf as usize), name };
            links.push(Link { ends: [lower, upper], spine: None });
        }
        for leaf in 0..leaves {
            for spine in 0..spines {
                let node = Node::Switch(leaf as usize);
                let lower = MapPort { node, name: format!("leaf{leaf}:uplink{spine}") };
                let node = Node::Switch((leaves + spine) as usize);
                let upper = MapPort { node, name: format!("spine{spine}:leaf{leaf}") };
                links.push(Link { ends: [lower, upper], spine: Some(spine as usize) });
            }
        }
        let ports = links.iter().enumerate().flat_map(|(link, Link { ends, .. })| {
            let port =
                move |(end, port): (usize, &MapPort)| (port.name.clone(), LinkEnd { link, end });
            ends.iter().enumerate().map(port)
        });
        let ports = ports.collect();
        Self { nics, switches, links, ports, rails }
    }

    /// The port that scenarios call `name` (`host1`, `leaf0:uplink1`); `None` if there is none.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<LinkEnd> {
        self.ports.get(name).copied()
    }

    /// Index of the NIC with this name.
    #[must_use]
    pub fn nic(&self, name: &str) -> Option<usize> {
        self.nics.iter().position(|nic| nic.name == name)
    }

    /// Index of a host's NIC on a rail.
    #[must_use]
    pub const fn nic_of(&self, host: u32, rail: u32) -> usize {
        (host * self.rails + rail) as usize
    }

    /// Indices in [`Map::nics`] of the NICs of host `name` (`host2`); empty if there is none.
    #[must_use]
    pub fn nics_of_host(&self, name: &str) -> Vec<usize> {
        let number = name.strip_prefix("host").and_then(|number| number.parse().ok());
        let Some(host): Option<u32> = number else { return Vec::new() };
        let rails = self.rails as usize;
        let first = host as usize * rails;
        // `host01` is no name.
        let of_host = |nic: &usize| self.nics.get(*nic).is_some_and(|nic| nic.host_name() == name);
        (first..first + rails).filter(of_host).collect()
    }
}

fn nic(host: u32, rail: u32, rails: u32) -> Nic {
    let name = if rails == 1 { format!("host{host}") } else { format!("host{host}:mlx5_{rail}") };
    let [rail_byte, high, low] = [rail, host / 250, host % 250 + 1].map(|part| (part & 0xff) as u8);
    let address = IpAddr::V4(Ipv4Addr::new(10, rail_byte, high, low));
    Nic { host, rail, name, address, mac: [0x02, 0, 10, rail_byte, high, low] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rails_have_leaves_of_their_own() {
        let fabric = Fabric { hosts: 5, rails: 2, hosts_per_leaf: 2, ..Fabric::default() };
        let map = Map::new(&fabric);
        assert_eq!((map.nics.len(), map.switches.len()), (10, 6 + 2));
        assert_eq!(map.links.len(), 10 + 6 * 2);
        assert_eq!(map.nics[map.nic_of(3, 1)].name, "host3:mlx5_1");
        let end = map.port("leaf4:host3").unwrap();
        assert_eq!(map.links[end.link].ends[0].name, "host3:mlx5_1");
        let end = map.port("leaf1:uplink1").unwrap();
        assert_eq!(map.links[end.link].ends[1].name, "spine1:leaf1");
        assert_eq!(map.port("leaf6:uplink0"), None);
        assert_eq!(map.nics_of_host("host1"), [2, 3]);
    }
}
