//! What ports are called.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Settings;
use crate::report::Report;
use crate::report::counters::CounterReport;
use crate::report::places::PortReport;

/// Names of ports by address, and which of them are told.
#[derive(Clone, Debug, Default)]
pub(super) struct PortNames {
    names: BTreeMap<IpAddr, String>,
    /// `None`: all.
    told: Option<BTreeSet<IpAddr>>,
}

impl PortNames {
    pub(super) fn new(report: &Report, settings: &Settings) -> Self {
        let of_nics = report.counters.iter().flat_map(|nic| {
            nic.addresses.iter().filter_map(|address| Some((address.parse().ok()?, of_nic(nic)?)))
        });
        let of_port = |port: &PortReport| {
            Some((port.address.parse().ok()?, name(port.host.as_deref(), port.device.as_deref())?))
        };
        let named = of_nics.chain(report.ports.iter().filter_map(of_port));
        Self { names: named.collect(), told: settings.ports.clone() }
    }

    /// What a port is called; `None` where it is not told.
    pub(super) fn of(&self, address: IpAddr) -> Option<String> {
        let is_told = self.told.as_ref().is_none_or(|own| own.contains(&address));
        let name = || self.names.get(&address).cloned().unwrap_or_else(|| address.to_string());
        is_told.then(name)
    }
}

/// `host/device` of a NIC, with the port's number where it is not the first.
pub(super) fn of_nic(nic: &CounterReport) -> Option<String> {
    let device = nic.device.as_deref().or(nic.netdev.as_deref());
    Some(numbered(nic, name(nic.host.as_deref(), device)?))
}

/// `name` with the number of the NIC's port where it is not the first.
pub(super) fn numbered(nic: &CounterReport, name: String) -> String {
    match nic.port {
        Some(port) if port > 1 => format!("{name}:{port}"),
        _ => name,
    }
}

/// `host/device`; `None` unless both are known: every host has a `mlx5_0`.
fn name(host: Option<&str>, device: Option<&str>) -> Option<String> {
    Some(format!("{}/{}", host?, device?))
}
