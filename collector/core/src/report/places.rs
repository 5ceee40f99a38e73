//! Hosts and ports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::port::JoinedPort;

/// A host and its ports' addresses. Addresses whose host has no name are hosts of their own.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Host {
    /// Its name; `null` if the input does not name it.
    pub name: Option<String>,
    /// IP addresses of its ports.
    pub addresses: Vec<String>,
}

/// An address that sends or receives.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PortReport {
    /// IP address.
    pub address: String,
    /// Ethernet source address of its frames; `null` if it sent none, or only through a router.
    pub mac: Option<String>,
    /// Name of its host; `null` if the input does not name it.
    pub host: Option<String>,
    /// RDMA device, such as `mlx5_0`; `null` if unknown.
    pub device: Option<String>,
    /// Rail; `null` if unknown.
    pub rail: Option<u32>,
    /// `backend` if it carries RoCE.
    pub plane: Plane,
    /// Line rate in bits per second; `null` if unknown.
    pub line_rate_bps: Option<u64>,
    /// Where the line rate is from; `null` if it is unknown.
    pub line_rate_source: Option<LineRateSource>,
    /// Highest rates seen at one tap, counting FCS, preamble and inter-packet gap.
    pub peaks: Peaks,
}

/// Highest rates of a port, in bits per second, averaged over the bucket in the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "direction, bucket and unit are in the names")]
pub struct Peaks {
    pub tx_100us_bps: u64,
    pub tx_1ms_bps: u64,
    pub rx_100us_bps: u64,
    pub rx_1ms_bps: u64,
}

/// Which network a port belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plane {
    /// The GPU fabric.
    Backend,
    /// It carried no RoCE.
    Unknown,
}

/// Where a line rate is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineRateSource {
    /// pcapng `if_speed`.
    Capture,
    /// The user's option.
    Option,
}

pub(super) fn hosts(sources: &Sources<'_>) -> Vec<Host> {
    let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut unnamed = Vec::new();
    for port in &sources.understanding.ports {
        let address = port.address.to_string();
        match &port.host {
            Some(name) => named.entry(name).or_default().push(address),
            None => unnamed.push(Host { name: None, addresses: vec![address] }),
        }
    }
    let host = |(name, addresses): (&str, _)| Host { name: Some(name.to_owned()), addresses };
    named.into_iter().map(host).chain(unnamed).collect()
}

pub(super) fn ports(sources: &Sources<'_>) -> Vec<PortReport> {
    sources.understanding.ports.iter().map(|port| report(sources, port)).collect()
}

fn report(sources: &Sources<'_>, port: &JoinedPort) -> PortReport {
    let ([tx_100us_bps, tx_1ms_bps], [rx_100us_bps, rx_1ms_bps]) =
        (port.sent_peaks_bps, port.received_peaks_bps);
    PortReport {
        address: port.address.to_string(),
        mac: port.mac.map(|mac| mac.to_string()),
        host: port.host.clone(),
        device: port.device.clone(),
        rail: sources.state.rails.of_address(port.address.to_ip()),
        plane: if port.has_roce { Plane::Backend } else { Plane::Unknown },
        line_rate_bps: port.line_rate.map(|rate| rate.bps),
        line_rate_source: port.line_rate.map(|rate| match rate.is_of_capture {
            true => LineRateSource::Capture,
            false => LineRateSource::Option,
        }),
        peaks: Peaks { tx_100us_bps, tx_1ms_bps, rx_100us_bps, rx_1ms_bps },
    }
}
