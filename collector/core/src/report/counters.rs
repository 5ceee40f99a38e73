//! NIC counters that were read beside captures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Detail, Sources};
use crate::link::counter::{Counter, NicCounters};
use crate::model::time::Span;

/// The counters of one port of a NIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterReport {
    /// Name of its host; `null` where its lines do not give it.
    pub host: Option<String>,
    /// RDMA device, such as `mlx5_0`.
    pub device: Option<String>,
    /// Network interface.
    pub netdev: Option<String>,
    /// Port of the device.
    pub port: Option<u32>,
    /// The kernel's driver of the device, such as `mlx5_core`.
    pub driver: Option<String>,
    /// Whether the port's link carries data, at the last sample that tells: `down`, `initialize`,
    /// `armed`, `active` or `active_defer`; `null` where no sample tells.
    pub link_state: Option<&'static str>,
    /// Bits a second of the link in each direction, as negotiated; `null` where no sample tells.
    pub rate_bps: Option<u64>,
    /// Addresses whose traffic it carries; empty where nothing tells.
    pub addresses: Vec<String>,
    /// Times at which it was read: of the counter that was read most often.
    pub samples: u64,
    /// Time of the first sample.
    pub first_ns: i64,
    /// Time of the last sample.
    pub last_ns: i64,
    /// Its counters that rose, or whose meaning is known, by raw name.
    pub counters: BTreeMap<String, CounterValueReport>,
}

/// One counter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterValueReport {
    /// What it counts, in words of no vendor; `null` where the name is not known.
    pub measure: Option<&'static str>,
    /// Whether it is, or is part of, its measure: `false` where another counter of the NIC counts the
    /// same, and where the name is not known. The measure is the sum of those with `true`.
    pub is_counted: bool,
    /// `packets`, `bytes`, `bits`, `ns` or `events`; `null` where the name is not known.
    pub unit: Option<&'static str>,
    /// Priority 0 ..= 7; `null` of counters that are not kept by priority.
    pub priority: Option<u8>,
    /// The raw value of the last sample.
    pub last_value: u64,
    /// How much it rose from the first sample to the last, in `unit` (raw where that is not known);
    /// what it rose by before a reset is not lost, what it fell by is not counted.
    pub delta: u64,
    /// Times that it was set anew.
    pub resets: u64,
    /// Times that it wrapped at 32 bits.
    pub wraps: u64,
    /// When it rose, in order of time; `null` unless full detail is asked for.
    pub rises: Option<Vec<RiseReport>>,
}

/// How much a counter rose from one sample to another.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RiseReport {
    /// Time of the earlier sample.
    pub start_ns: i64,
    /// Time of the later sample.
    pub end_ns: i64,
    /// How much, in `unit`, as in `delta`.
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
        rises: (sources.context.detail == Detail::Full).then(rises),
    }
}
