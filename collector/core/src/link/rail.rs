//! Rails: the NICs of equal index across hosts, on one plane of switches. From a map file; else
//! from device names or subnets, if all hosts agree.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Deserialize;

use super::counter::join::PortNames;
use crate::model::subnet::Subnet;

/// A map file: what is on each rail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RailMap {
    /// Device names, addresses and subnets by number of the rail.
    #[serde(default)]
    rails: BTreeMap<String, Vec<String>>,
}

/// The rails of all ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rails {
    by_address: BTreeMap<IpAddr, u32>,
    subnets: Vec<(Subnet, u32)>,
}

/// The rail of each device name, and of each subnet or address.
type ReadMap<'a> = (BTreeMap<&'a str, u32>, Vec<(Subnet, u32)>);

impl RailMap {
    /// The rail of each device name, and of each subnet or address.
    ///
    /// # Errors
    ///
    /// A rail is not a number, or something is on two rails.
    fn read(&self) -> Result<ReadMap<'_>, String> {
        let mut devices = BTreeMap::new();
        let mut subnets: Vec<(Subnet, u32)> = Vec::new();
        for (rail, names) in &self.rails {
            let rail: u32 = rail
                .parse()
                .map_err(|_| format!("rail `{rail}` is not a number: write `0 = [...]`"))?;
            for name in names {
                let is_twice = match Subnet::try_from(name.clone()) {
                    Ok(subnet) => {
                        let is_known = subnets.iter().any(|(known, _)| *known == subnet);
                        subnets.push((subnet, rail));
                        is_known
                    }
                    Err(problem) if name.contains(['/', ':']) => return Err(problem),
                    Err(_) => devices.insert(name.as_str(), rail).is_some(),
                };
                if is_twice {
                    return Err(format!("`{name}` is on two rails: assign it to one"));
                }
            }
        }
        Ok((devices, subnets))
    }

    /// Checks the map.
    ///
    /// # Errors
    ///
    /// A rail is not a number, or something is on two rails.
    pub fn check(&self) -> Result<(), String> {
        self.read().map(|_| ())
    }
}

impl Rails {
    /// The rails of a map; what it does not contain is on none.
    #[must_use]
    pub fn mapped(map: &RailMap, names: &PortNames) -> Self {
        let Ok((devices, mut subnets)) = map.read() else { return Self::default() };
        // The longest prefix first: an address takes precedence over its subnet.
        subnets.sort_by_key(|(subnet, rail)| (std::cmp::Reverse(subnet.prefix()), *rail));
        let rail = |device: Option<&str>| devices.get(device?).copied();
        let by_device = names.iter().filter_map(|(_, device, ip)| Some((ip, rail(device)?)));
        Self { by_address: by_device.collect(), subnets }
    }

    /// The rails that all hosts agree on: by device names in numeric order, else by subnets.
    #[must_use]
    pub fn agreed(names: &PortNames) -> Self {
        let by_device = by_agreement(names, |device, _| device.map(by_numbers));
        let by_subnet = || by_agreement(names, |_, address| Some(subnet_of(address)));
        let by_address = by_device.or_else(by_subnet).unwrap_or_default();
        Self { by_address, subnets: Vec::new() }
    }

    /// The rail of a port.
    #[must_use]
    pub fn of_address(&self, address: IpAddr) -> Option<u32> {
        let in_subnet = || self.subnets.iter().find(|(subnet, _)| subnet.contains(address));
        self.by_address.get(&address).copied().or_else(|| in_subnet().map(|(_, rail)| *rail))
    }
}

/// Rails by a property that distinguishes the ports of every host, with the same values on several
/// hosts; `None` if hosts differ or have one port.
fn by_agreement<K: Ord + Clone>(
    names: &PortNames,
    of: impl Fn(Option<&str>, IpAddr) -> Option<K>,
) -> Option<BTreeMap<IpAddr, u32>> {
    let mut hosts: BTreeMap<&str, BTreeMap<IpAddr, Option<K>>> = BTreeMap::new();
    for (host, device, address) in names.iter().filter(|(_, device, _)| device.is_some()) {
        hosts.entry(host).or_default().insert(address, of(device, address));
    }
    let mut values: Option<BTreeSet<K>> = None;
    for ports in hosts.values() {
        let of_host: Option<BTreeSet<K>> = ports.values().cloned().collect();
        let of_host = of_host.filter(|known| known.len() == ports.len())?;
        if values.get_or_insert_with(|| of_host.clone()) != &of_host {
            return None;
        }
    }
    let values = values.filter(|values| values.len() > 1 && hosts.len() > 1)?;
    let rail = |value: &K| values.iter().position(|known| known == value);
    let ports = hosts.values().flatten();
    let rails = ports.filter_map(|(address, value)| {
        Some((*address, u32::try_from(rail(value.as_ref()?)?).ok()?))
    });
    Some(rails.collect())
}

/// A sort key with numeric order: `mlx5_9` before `mlx5_10`.
fn by_numbers(name: &str) -> Vec<(Option<u64>, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|one: char| one.is_ascii_digit() != is_digit);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push((part.parse().ok(), part.to_owned()));
        rest = after;
    }
    parts
}

/// The network part in which rails usually differ: 24 bits of IPv4, 64 of IPv6.
fn subnet_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits() >> 8),
        IpAddr::V6(v6) => v6.to_bits() >> 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::job::{Communicator, Identity, Job, Nic, Rank, Transport};
    use crate::model::grade::Grade;

    fn names(ports: &[(&str, &str, &str)]) -> PortNames {
        let ranks = (0..).zip(ports).map(|(rank, (host, device, address))| Rank {
            host: Some((*host).to_owned()),
            nics: vec![Nic {
                address: address.parse().unwrap(),
                device: Some((*device).to_owned()),
            }],
            ..Rank::new(rank)
        });
        let communicator = Communicator {
            identity: Identity::Inferred(0),
            log_hash: None,
            nranks: None,
            release: None,
            releases: None,
            root: None,
            parent: None,
            ranks: ranks.collect(),
            channels: Vec::new(),
            transport: Transport::Ib,
            bootstrap: None,
            evidence: Vec::new(),
            grade: Grade::Proven,
        };
        let job = Job { communicators: vec![communicator], ..Job::default() };
        PortNames::new(Some(&job), &crate::link::log::LogFacts::default(), &[])
    }

    const FOUR: &[(&str, &str, &str)] = &[
        ("a", "mlx5_0", "10.0.0.1"),
        ("a", "mlx5_3", "10.0.1.1"),
        ("b", "mlx5_0", "10.0.0.2"),
        ("b", "mlx5_3", "10.0.1.2"),
    ];

    fn rails(rails: &Rails, addresses: &[&str]) -> Vec<Option<u32>> {
        addresses.iter().map(|address| rails.of_address(address.parse().unwrap())).collect()
    }

    #[test]
    fn rails_are_what_all_hosts_agree_on() {
        let agreed = Rails::agreed(&names(FOUR));
        let all = ["10.0.0.1", "10.0.1.1", "10.0.0.2", "10.0.1.2", "10.0.2.1"];
        assert_eq!(rails(&agreed, &all), [Some(0), Some(1), Some(0), Some(1), None]);
        // Devices differ, subnets do not.
        let mut other = FOUR.to_vec();
        other[3] = ("b", "mlx5_5", "10.0.1.2");
        assert_eq!(rails(&Rails::agreed(&names(&other)), &all)[3], Some(1));
        other[3] = ("b", "mlx5_5", "10.0.7.2");
        assert_eq!(rails(&Rails::agreed(&names(&other)), &all), [None; 5]);
    }

    #[test]
    fn devices_are_in_the_order_of_their_numbers() {
        let numbers = [0_u32, 3, 4, 5, 6, 9, 10, 11];
        let port = |host: usize, number: u32| {
            let name = ["a", "b"][host];
            (name, format!("mlx5_{number}"), format!("10.0.{number}.{host}"))
        };
        let all: Vec<_> =
            [0, 1].iter().flat_map(|host| numbers.map(|number| port(*host, number))).collect();
        let ports: Vec<_> =
            all.iter().map(|(host, device, ip)| (*host, device.as_str(), ip.as_str())).collect();
        let agreed = Rails::agreed(&names(&ports));
        let of_b: Vec<_> = ports.iter().skip(8).map(|(.., ip)| *ip).collect();
        assert_eq!(rails(&agreed, &of_b), [0, 1, 2, 3, 4, 5, 6, 7].map(Some));
        let mut odd = ["rocep10s0f0", "mlx5_01", "rocep9s0f1", "", "mlx5_1", "rocep9s0f0"];
        odd.sort_by_key(|name| by_numbers(name));
        assert_eq!(odd, ["", "mlx5_01", "mlx5_1", "rocep9s0f0", "rocep9s0f1", "rocep10s0f0"]);
    }

    #[test]
    fn a_map_stands_above_names() {
        let map = RailMap {
            rails: BTreeMap::from([
                ("7".to_owned(), vec!["mlx5_0".to_owned()]),
                ("8".to_owned(), vec!["10.0.1.0/24".to_owned()]),
                ("9".to_owned(), vec!["10.0.1.2".to_owned()]),
            ]),
        };
        assert_eq!(map.check(), Ok(()));
        let mapped = Rails::mapped(&map, &names(FOUR));
        let all = ["10.0.0.1", "10.0.1.1", "10.0.1.2", "10.0.2.1"];
        assert_eq!(rails(&mapped, &all), [Some(7), Some(8), Some(9), None]);
        for wrong in [("x", "mlx5_0"), ("1", "10.0.0.0/99")] {
            let rails = BTreeMap::from([(wrong.0.to_owned(), vec![wrong.1.to_owned()])]);
            assert!(RailMap { rails }.check().is_err(), "{wrong:?}");
        }
    }
}
