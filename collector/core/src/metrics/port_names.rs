//! What ports are called.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Settings;
use crate::report::Report;

/// Names of ports by address, and which of them are told.
#[derive(Clone, Debug, Default)]
pub(super) struct PortNames {
    names: BTreeMap<IpAddr, String>,
    /// `None`: all.
    told: Option<BTreeSet<IpAddr>>,
}

impl PortNames {
    pub(super) fn new(report: &Report, settings: &Settings) -> Self {
        let named = report.ports.iter().filter_map(|port| {
            let name = name(port.host.as_deref(), port.device.as_deref())?;
            Some((port.address.parse().ok()?, name))
        });
        Self { names: named.collect(), told: settings.ports.clone() }
    }

    /// What a port is called; `None` where it is not told.
    pub(super) fn of(&self, address: IpAddr) -> Option<String> {
        let is_told = self.told.as_ref().is_none_or(|own| own.contains(&address));
        let name = || self.names.get(&address).cloned().unwrap_or_else(|| address.to_string());
        is_told.then(name)
    }
}

/// `host/device`; `None` where the device is not known.
pub(super) fn name(host: Option<&str>, device: Option<&str>) -> Option<String> {
    let device = device?;
    Some(host.map_or_else(|| device.to_owned(), |host| format!("{host}/{device}")))
}
