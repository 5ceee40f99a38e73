//! Hosts and ports.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::Sources;
use crate::flow::burst::WIDTHS_NS;
use crate::flow::port::Port;
use crate::model::address::HostAddress;

/// A host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Host {
    /// Its name; `null` when the input does not name it.
    pub name: Option<String>,
    /// Its addresses.
    pub addresses: Vec<String>,
}

/// An address that sent or received.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PortReport {
    /// IP address.
    pub address: String,
    /// Ethernet source address of its frames; `null` when it sent none, or through a router.
    pub mac: Option<String>,
    /// Name of its host; `null` when the input does not name it.
    pub host: Option<String>,
    /// RDMA device, such as `mlx5_0`; `null` when no source tells.
    pub device: Option<String>,
    /// Rail; `null` when no source tells.
    pub rail: Option<u32>,
    /// `backend` where it carries RoCE.
    pub plane: Plane,
    /// Line rate in bits per second; `null` when unknown.
    pub line_rate_bps: Option<u64>,
    /// Where the line rate is from.
    pub line_rate_source: Option<LineRateSource>,
    /// Highest rates seen at one tap, with FCS, preamble and gap.
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
    /// Not known.
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
    let names = names(sources);
    let mut named: BTreeMap<&str, BTreeSet<HostAddress>> = BTreeMap::new();
    let mut unnamed = BTreeSet::new();
    for port in sources.state.tracker.ports().ports() {
        match names.get(&port.address) {
            Some(name) => drop(named.entry(name).or_default().insert(port.address)),
            None => drop(unnamed.insert(port.address)),
        }
    }
    let named = named.into_iter().map(|(name, addresses)| Host {
        name: Some(name.to_owned()),
        addresses: addresses.iter().map(ToString::to_string).collect(),
    });
    let unnamed = unnamed
        .into_iter()
        .map(|address| Host { name: None, addresses: vec![address.to_string()] });
    named.chain(unnamed).collect()
}

pub(super) fn ports(sources: &Sources<'_>) -> Vec<PortReport> {
    let names = names(sources);
    // The same port at several taps is one port.
    let mut ports: BTreeMap<HostAddress, PortReport> = BTreeMap::new();
    for port in sources.state.tracker.ports().ports() {
        let known = ports.entry(port.address).or_insert_with(|| PortReport {
            address: port.address.to_string(),
            mac: None,
            host: names.get(&port.address).map(|name| (*name).to_owned()),
            device: sources.state.names.device(port.address.to_ip()).map(str::to_owned),
            rail: sources.state.rails.of_address(port.address.to_ip()),
            plane: Plane::Unknown,
            line_rate_bps: None,
            line_rate_source: None,
            peaks: Peaks::default(),
        });
        known.mac = known.mac.take().or_else(|| port.mac.map(|mac| mac.to_string()));
        if port.has_roce {
            known.plane = Plane::Backend;
        }
        let (rate, source) = line_rate(sources, port);
        known.line_rate_bps = known.line_rate_bps.or(rate);
        known.line_rate_source = known.line_rate_source.or(source);
        known.peaks.raise(port);
    }
    ports.into_values().collect()
}

impl Peaks {
    fn raise(&mut self, port: &Port) {
        let [tx_narrow, tx_wide] = port.sent.finish().map(|stats| stats.peak_bytes);
        let [rx_narrow, rx_wide] = port.received.finish().map(|stats| stats.peak_bytes);
        for (peak, bytes, bucket_ns) in [
            (&mut self.tx_100us_bps, tx_narrow, WIDTHS_NS[0]),
            (&mut self.tx_1ms_bps, tx_wide, WIDTHS_NS[1]),
            (&mut self.rx_100us_bps, rx_narrow, WIDTHS_NS[0]),
            (&mut self.rx_1ms_bps, rx_wide, WIDTHS_NS[1]),
        ] {
            *peak = (*peak).max(bytes.saturating_mul(8 * (1_000_000_000 / bucket_ns)));
        }
    }
}

fn line_rate(sources: &Sources<'_>, port: &Port) -> (Option<u64>, Option<LineRateSource>) {
    let tap = &sources.state.tracker.taps()[port.tap.0 as usize];
    let source = tap.line_rate_bps.map(|rate| {
        if tap.tap.line_rate_bps == Some(rate) {
            LineRateSource::Capture
        } else {
            LineRateSource::Option
        }
    });
    (tap.line_rate_bps, source)
}

fn names<'a>(sources: &'a Sources<'_>) -> BTreeMap<HostAddress, &'a str> {
    sources
        .state
        .host_names
        .iter()
        .map(|name| (HostAddress::from(name.address), name.name.as_str()))
        .collect()
}
