//! Counters of NICs, by their vendor's names.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::metric::Metric;
use super::point::Attributes;
use super::port_names;
use super::series::SeriesTable;
use crate::report::Report;
use crate::report::counters::{CounterReport, CounterValueReport};

/// How far counters were told, by NIC and name.
pub(super) type NicsTold = Growth<(String, String), 1>;

/// Adds what counters rose by since the last report.
pub(super) fn add(series: &mut SeriesTable, told: &mut NicsTold, report: &Report) {
    let mut rises = BTreeMap::new();
    let mut kinds: BTreeMap<&str, &CounterValueReport> = BTreeMap::new();
    for nic in &report.counters {
        for (counter, value) in &nic.counters {
            kinds.insert(counter, value);
            let sums = Sums::timeless([Some(value.delta)]);
            rises.insert((name(nic), counter.clone()), sums);
        }
    }
    told.read(rises, |(nic, counter), [rise]| {
        let Some(kind) = kinds.get(counter.as_str()) else { return };
        let priority = kind.priority.map(|priority| priority.to_string());
        let reading = kind.measure.map(|measure| {
            [
                (attribute::MEASURE.name, measure.to_owned()),
                (attribute::COUNTED.name, kind.is_counted.to_string()),
                (attribute::COUNTER_PRIORITY.name, priority.unwrap_or_else(|| "all".to_owned())),
            ]
        });
        let named =
            [(attribute::PORT.name, nic.clone()), (attribute::COUNTER.name, counter.clone())];
        let attributes = Attributes::new(named.into_iter().chain(reading.into_iter().flatten()));
        series.add(metric(kind.unit), attributes, rise.unwrap_or(0));
    });
}

/// Sets whether links carry data, and their rates.
pub(super) fn set(series: &mut SeriesTable, report: &Report) {
    for nic in &report.counters {
        let attributes = || Attributes::new([(attribute::PORT.name, name(nic))]);
        if let Some(state) = nic.link_state {
            let is_up = u64::from(state == "active");
            series.set(&catalog::NIC_UP, attributes(), is_up);
        }
        if let Some(rate) = nic.rate_bps {
            series.raise(&catalog::PORT_LINE_RATE, attributes(), rate / 8);
        }
    }
}

/// As other metrics name its port: `host/device`, else its address; where that is not known either,
/// as much as is.
fn name(nic: &CounterReport) -> String {
    port_names::of_nic(nic).or_else(|| nic.addresses.first().cloned()).unwrap_or_else(|| {
        let known = [&nic.host, &nic.device, &nic.netdev].into_iter().flatten().next();
        port_names::numbered(nic, known.cloned().unwrap_or_default())
    })
}

fn metric(unit: Option<&str>) -> &'static Metric {
    match unit {
        Some("packets") => &catalog::NIC_PACKETS,
        Some("bytes") => &catalog::NIC_IO,
        Some("ns") => &catalog::NIC_TIME,
        Some(_) => &catalog::NIC_EVENTS,
        None => &catalog::NIC_OTHER,
    }
}
