//! Which port's traffic a NIC's counters belong to: by address, else by device and host, else by
//! host alone if it has one port.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Counters, NicCounters};
use crate::link::job::Job;
use crate::link::log::LogFacts;
use crate::model::tap::HostName;

/// Host and device names of addresses, from other sources.
#[derive(Clone, Debug, Default)]
pub struct PortNames {
    /// Address by host and device.
    ports: BTreeSet<(String, Option<String>, IpAddr)>,
}

impl PortNames {
    /// Names from the job, its logs and the captures.
    #[must_use]
    pub fn new(job: Option<&Job>, logs: &LogFacts, host_names: &[HostName]) -> Self {
        let mut ports = BTreeSet::new();
        let ranks = job.into_iter().flat_map(|job| &job.communicators).flat_map(|one| &one.ranks);
        for rank in ranks {
            let host = rank.host.clone().or_else(|| rank.address.map(|ip| ip.to_string()));
            for nic in &rank.nics {
                let Some(host) = host.clone() else { continue };
                ports.insert((host, nic.device.clone(), nic.address));
            }
        }
        for process in &logs.processes {
            for pair in &process.queue_pairs {
                let Some(address) = pair.address else { continue };
                ports.insert((process.host.clone(), pair.device.clone(), address));
            }
        }
        for name in host_names {
            ports.insert((name.name.clone(), None, name.address));
        }
        Self { ports }
    }

    /// Devices by host and address.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>, IpAddr)> {
        self.ports
            .iter()
            .map(|(host, device, address)| (host.as_str(), device.as_deref(), *address))
    }

    /// The RDMA device whose port has this address; `None` if unknown.
    #[must_use]
    pub fn device(&self, address: IpAddr) -> Option<&str> {
        self.iter().filter(|(.., known)| *known == address).find_map(|(_, device, _)| device)
    }

    /// The addresses of a host: all, or those of one device.
    fn addresses(&self, host: &str, device: Option<&str>) -> BTreeSet<IpAddr> {
        let is_it = |known: Option<&str>| device.is_none() || known == device;
        let of_host = self.iter().filter(|(name, known, _)| *name == host && is_it(*known));
        of_host.map(|(.., address)| address).collect()
    }
}

impl Counters {
    /// Finds the ports of NICs whose lines have no address.
    pub fn join(&mut self, names: &PortNames) {
        // A host with one NIC in the counters and one address in the traffic.
        let mut nics_of: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for nic in &self.nics {
            *nics_of.entry(nic.host.clone()).or_default() += 1;
        }
        for nic in self.nics.iter_mut().filter(|nic| nic.addresses.is_empty()) {
            let is_only = nics_of.get(&nic.host) == Some(&1);
            nic.addresses = addresses(nic, names, is_only).into_iter().collect();
        }
    }
}

fn addresses(nic: &NicCounters, names: &PortNames, is_only: bool) -> BTreeSet<IpAddr> {
    let Some(host) = &nic.host else { return BTreeSet::new() };
    let by_device = match &nic.device {
        Some(device) => names.addresses(host, Some(device)),
        None => BTreeSet::new(),
    };
    if !by_device.is_empty() {
        return by_device;
    }
    let of_host = names.addresses(host, None);
    if is_only && of_host.len() == 1 { of_host } else { BTreeSet::new() }
}
