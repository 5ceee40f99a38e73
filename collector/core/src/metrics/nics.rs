//! Counters of NICs, by their vendor's names.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::metric::Metric;
use super::point::Attributes;
use super::port_names;
use super::series::SeriesTable;
use crate::link::counter::{Counter, Counters, NicCounters};
use crate::model::counter::{NicSetup, PortState};

/// Rises of counters as of the last export, by NIC and raw name.
pub(super) type NicGrowth = Growth<(String, String), 1>;

/// Adds what counters rose by since the last export.
pub(super) fn add(series: &mut SeriesTable, counted: &mut NicGrowth, counters: &Counters) {
    let mut rises = BTreeMap::new();
    let mut by_name: BTreeMap<&str, &Counter> = BTreeMap::new();
    for nic in &counters.nics {
        for counter in nic.counters.iter().filter(|one| one.is_shown()) {
            by_name.insert(&counter.name, counter);
            let sums = Sums::timeless([Some(counter.rise())]);
            rises.insert((name(nic), counter.name.clone()), sums);
        }
    }
    counted.read(rises, |(nic, name), [rise]| {
        let Some(counter) = by_name.get(name.as_str()) else { return };
        let reading = counter.reading.map(|reading| {
            let priority = reading.priority.map(|priority| priority.to_string());
            [
                (attribute::MEASURE.name, reading.measure.name().to_owned()),
                (attribute::COUNTED.name, counter.is_counted.to_string()),
                (attribute::COUNTER_PRIORITY.name, priority.unwrap_or_else(|| "all".to_owned())),
            ]
        });
        let named = [(attribute::PORT.name, nic.clone()), (attribute::COUNTER.name, name.clone())];
        let attributes = Attributes::new(named.into_iter().chain(reading.into_iter().flatten()));
        series.add(metric(counter), attributes, rise.unwrap_or(0));
    });
}

/// Sets what NICs are, link states and line rates.
pub(super) fn set(series: &mut SeriesTable, counters: &Counters) {
    for nic in &counters.nics {
        if let Some(setup) = &nic.setup {
            series.set(&catalog::NIC_INFO, info(nic, setup), 1);
        }
        let Some(link) = nic.link else { continue };
        let attributes = || Attributes::new([(attribute::PORT.name, name(nic))]);
        let is_up = u64::from(link.state == PortState::Active);
        series.set(&catalog::NIC_UP, attributes(), is_up);
        if let Some(bps) = link.rate_bps {
            series.raise(&catalog::PORT_LINE_RATE, attributes(), bps / 8);
        }
    }
}

/// What is known of a NIC.
fn info(nic: &NicCounters, setup: &NicSetup) -> Attributes {
    let NicSetup { model, firmware, mtu, link_layer } = setup;
    let known = [
        (attribute::PORT.name, Some(name(nic))),
        (attribute::DRIVER.name, nic.driver.clone()),
        (attribute::MODEL.name, model.clone()),
        (attribute::FIRMWARE.name, firmware.clone()),
        (attribute::MTU.name, mtu.map(|mtu| mtu.to_string())),
        (attribute::LINK_LAYER.name, link_layer.clone()),
    ];
    Attributes::new(known.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

/// The name of its port in other metrics: `host/device`, else its address. If neither is known, the
/// first known of host, device and interface.
fn name(nic: &NicCounters) -> String {
    let address = || nic.addresses.first().map(ToString::to_string);
    port_names::of_nic(nic).or_else(address).unwrap_or_else(|| {
        let known = [&nic.host, &nic.device, &nic.netdev].into_iter().flatten().next();
        port_names::numbered(nic, known.cloned().unwrap_or_default())
    })
}

fn metric(counter: &Counter) -> &'static Metric {
    match counter.reading.map(|reading| reading.measure.unit()) {
        Some("packets") => &catalog::NIC_PACKETS,
        Some("bytes") => &catalog::NIC_IO,
        Some("ns") => &catalog::NIC_TIME,
        Some(_) => &catalog::NIC_EVENTS,
        None => &catalog::NIC_OTHER,
    }
}
