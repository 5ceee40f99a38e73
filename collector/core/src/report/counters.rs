//! NIC counters read beside captures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Detail;
use super::sources::Sources;
use crate::link::counter::{Counter, NicCounters};
use crate::model::time::Span;

/// The counters of one port of a NIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterReport {
    /// Name of its host; `null` if its lines do not name it.
    pub host: Option<String>,
    /// RDMA device, such as `mlx5_0`.
    pub device: Option<String>,
    /// Network interface.
    pub netdev: Option<String>,
    /// Port of the device.
    pub port: Option<u32>,
    /// The kernel's driver of the device, such as `mlx5_core`.
    pub driver: Option<String>,
    /// State of the port's link at the last sample that has it: `down`, `initialize`, `armed`,
    /// `active` (it carries data) or `active_defer`; `null` if no sample has it.
    pub link_state: Option<&'static str>,
    /// Negotiated rate of the link in each direction, bits per second; `null` if no sample has it.
    pub rate_bps: Option<u64>,
    /// Addresses whose traffic it carries; empty if unknown.
    pub addresses: Vec<String>,
    /// Samples of the counter that was read most often.
    pub samples: u64,
    /// Time of the first sample.
    pub first_ns: i64,
    /// Time of the last sample.
    pub last_ns: i64,
    /// Its counters that increased, or whose meaning is known, by raw name.
    pub counters: BTreeMap<String, CounterValueReport>,
}

/// A counter of a NIC: its meaning and its increase.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterValueReport {
    /// What it counts, as a vendor-neutral name; `null` if the counter is unknown.
    pub measure: Option<&'static str>,
    /// Whether it adds to the total of its measure. `false` if another counter of the NIC counts
    /// the same, or if the counter is unknown.
    pub is_counted: bool,
    /// `packets`, `bytes`, `bits`, `ns` or `events`; `null` if the name is not known.
    pub unit: Option<&'static str>,
    /// Priority 0 to 7; `null` for counters without priority.
    pub priority: Option<u8>,
    /// The raw value of the last sample.
    pub last_value: u64,
    /// Increase from the first sample to the last, in `unit` (raw if that is `null`). Increases
    /// before a reset count, decreases do not.
    pub delta: u64,
    /// Number of resets.
    pub resets: u64,
    /// Number of wraps at 32 bits.
    pub wraps: u64,
    /// When it increased, in order of time; `null` without full detail.
    pub rises: Option<Vec<RiseReport>>,
}

/// Increase of a counter from one sample to a later one.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RiseReport {
    /// Time of the earlier sample.
    pub start_ns: i64,
    /// Time of the later sample.
    pub end_ns: i64,
    /// The increase, in the unit of `delta`.
    pub amount: u64,
}

/// The NICs by host, device, interface, address and port.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CounterReport> {
    sources.state.counters.nics.iter().map(|nic| report(sources, nic)).collect()
}

fn report(sources: &Sources<'_>, nic: &NicCounters) -> CounterReport {
    CounterReport {
        host: nic.host.clone(),
        device: nic.device.clone(),
        netdev: nic.netdev.clone(),
        port: nic.port,
        driver: nic.driver.clone(),
        link_state: nic.link.map(|link| link.state.name()),
        rate_bps: nic.link.and_then(|link| link.rate_bps),
        addresses: nic.addresses.iter().map(ToString::to_string).collect(),
        samples: nic.samples,
        first_ns: sources.relative_ns(nic.span.first),
        last_ns: sources.relative_ns(nic.span.last),
        counters: nic
            .counters
            .iter()
            .filter(|one| one.is_shown())
            .map(|one| (one.name.clone(), value(sources, one)))
            .collect(),
    }
}

fn value(sources: &Sources<'_>, counter: &Counter) -> CounterValueReport {
    let Counter { reading, is_counted, series, .. } = counter;
    let rises = || {
        let rises = series.rises().filter(|(_, amount)| *amount > 0);
        let report = |(span, amount): (Span, u64)| RiseReport {
            start_ns: sources.relative_ns(span.first),
            end_ns: sources.relative_ns(span.last),
            amount: amount.saturating_mul(counter.scale()),
        };
        rises.map(report).collect()
    };
    CounterValueReport {
        measure: reading.map(|reading| reading.measure.name()),
        is_counted: *is_counted,
        unit: reading.map(|reading| reading.measure.unit()),
        priority: reading.and_then(|reading| reading.priority),
        last_value: series.last_value(),
        delta: counter.rise(),
        resets: series.resets(),
        wraps: series.wraps(),
        rises: (sources.context.detail >= Detail::Events).then(rises),
    }
}
