//! Line rates, highest rates and bursts of ports.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::SeriesTable;
use crate::report::Report;
use crate::report::bursts::BurstDirection;
use crate::report::places::PortReport;

/// How far the bursts were told, by port, direction and bucket; first bursts, then their time.
pub(super) type BurstsTold = Growth<(IpAddr, &'static str, &'static str), 2>;

/// Sets what ports can do and the most that they did.
pub(super) fn set(series: &mut SeriesTable, names: &PortNames, report: &Report) {
    for port in &report.ports {
        let Some(name) = port.address.parse().ok().and_then(|address| names.of(address)) else {
            continue;
        };
        if let Some(rate) = port.line_rate_bps {
            let attributes = Attributes::new([(attribute::PORT.name, name.clone())]);
            series.raise(&catalog::PORT_LINE_RATE, attributes, rate / 8);
        }
        for (direction, bucket, peak) in peaks(port) {
            let attributes = port_attributes(name.clone(), direction, bucket);
            series.raise(&catalog::PORT_PEAK_RATE, attributes, peak / 8);
        }
    }
}

/// Adds the bursts since the last report.
pub(super) fn add_bursts(
    series: &mut SeriesTable,
    told: &mut BurstsTold,
    names: &PortNames,
    report: &Report,
) {
    let mut bursts = BTreeMap::new();
    for of_width in report.bursts.iter().flatten() {
        let bucket = if of_width.bucket_ns == 1_000_000 { "1ms" } else { "100us" };
        for port in &of_width.ports {
            let Ok(address) = port.address.parse() else { continue };
            let direction = match port.direction {
                BurstDirection::Tx => "transmit",
                BurstDirection::Rx => "receive",
            };
            let sums = Sums::timeless([Some(port.bursts), Some(port.time_above_ns)]);
            let of_port = bursts.entry((address, direction, bucket)).or_insert(sums);
            of_port.join(sums);
        }
    }
    told.read(bursts, |(address, direction, bucket), [count, time]| {
        let Some(name) = names.of(*address) else { return };
        let attributes = port_attributes(name, direction, bucket);
        series.add(&catalog::PORT_BURSTS, attributes.clone(), count.unwrap_or(0));
        series.add(&catalog::PORT_BURST_TIME, attributes, time.unwrap_or(0));
    });
}

fn peaks(port: &PortReport) -> [(&'static str, &'static str, u64); 4] {
    [
        ("transmit", "100us", port.peaks.tx_100us_bps),
        ("transmit", "1ms", port.peaks.tx_1ms_bps),
        ("receive", "100us", port.peaks.rx_100us_bps),
        ("receive", "1ms", port.peaks.rx_1ms_bps),
    ]
}

fn port_attributes(name: String, direction: &str, bucket: &str) -> Attributes {
    Attributes::new([
        (attribute::PORT.name, name),
        (attribute::DIRECTION.name, direction.to_owned()),
        (attribute::BUCKET.name, bucket.to_owned()),
    ])
}
