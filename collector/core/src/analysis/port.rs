//! Ports joined over taps: an address that sends or receives, with its names and its highest rates.

use std::collections::{BTreeMap, HashMap};

use super::state::State;
use crate::flow::burst::{BurstMeter, Highest, WIDTHS_NS};
use crate::flow::port::MeteredPort;
use crate::model::address::{HostAddress, MacAddress};

/// One address, as all taps saw it.
#[derive(Clone, Debug)]
pub struct JoinedPort {
    /// Its IP address.
    pub address: HostAddress,
    /// Source MAC address of its frames; `None` if no tap saw one, or only through a router.
    pub mac: Option<MacAddress>,
    /// Name of its host.
    pub host: Option<String>,
    /// RDMA device, such as `mlx5_0`.
    pub device: Option<String>,
    /// Whether it sends or receives RoCE.
    pub has_roce: bool,
    /// Its line rate: that of the first tap that has one.
    pub line_rate: Option<LineRate>,
    /// Highest outgoing rates at one tap in bits per second, by bucket as in [`WIDTHS_NS`].
    pub sent_peaks_bps: [u64; 2],
    /// Highest incoming rates at one tap, likewise.
    pub received_peaks_bps: [u64; 2],
    /// What it sent at most in recent intervals, likewise.
    pub sent_recently: [Highest; 2],
    /// What it received at most in recent intervals, likewise.
    pub received_recently: [Highest; 2],
}

/// A line rate and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRate {
    /// Bits per second.
    pub bps: u64,
    /// It comes from the capture (pcapng `if_speed`), not from the user's option.
    pub is_of_capture: bool,
}

/// The ports by address.
#[must_use]
pub fn join(state: &State) -> Vec<JoinedPort> {
    let hosts: HashMap<HostAddress, &str> =
        state.host_names.iter().map(|name| (name.address.into(), name.name.as_str())).collect();
    let mut joined: BTreeMap<HostAddress, JoinedPort> = BTreeMap::new();
    for port in state.tracker.ports().ports() {
        let known = joined.entry(port.address).or_insert_with(|| JoinedPort {
            address: port.address,
            mac: None,
            host: hosts.get(&port.address).map(|name| (*name).to_owned()),
            device: state.names.device(port.address.to_ip()).map(str::to_owned),
            has_roce: false,
            line_rate: None,
            sent_peaks_bps: [0; 2],
            received_peaks_bps: [0; 2],
            sent_recently: Default::default(),
            received_recently: Default::default(),
        });
        known.mac = known.mac.or(port.mac);
        known.has_roce |= port.has_roce;
        known.line_rate = known.line_rate.or_else(|| line_rate(state, port));
        raise(&mut known.sent_peaks_bps, &mut known.sent_recently, &port.sent);
        raise(&mut known.received_peaks_bps, &mut known.received_recently, &port.received);
    }
    joined.into_values().collect()
}

fn line_rate(state: &State, port: &MeteredPort) -> Option<LineRate> {
    let tap = state.tracker.tap(port.tap)?;
    let bps = tap.line_rate_bps?;
    Some(LineRate { bps, is_of_capture: tap.tap.line_rate_bps == Some(bps) })
}

fn raise(peaks: &mut [u64; 2], recent: &mut [Highest; 2], meter: &BurstMeter) {
    let widths = peaks.iter_mut().zip(recent).zip(meter.finish()).zip(WIDTHS_NS);
    for (((peak, recent), stats), width_ns) in widths {
        *peak = stats.peak_bps(width_ns).max(*peak);
        recent.raise(stats.recent());
    }
}
