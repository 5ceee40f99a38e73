//! Line rates, peak rates, fan-in and bursts of ports.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::SeriesTable;
use crate::analysis::port::JoinedPort;
use crate::flow::burst::WIDTHS_NS;
use crate::flow::tracker::FlowTracker;

/// Bursts and their time as of the last export, by port, direction and bucket.
pub(super) type BurstGrowth = Growth<(IpAddr, &'static str, &'static str), 2>;

const TRANSMIT: &str = "transmit";
const RECEIVE: &str = "receive";
/// Names of the bucket widths, in the order of [`WIDTHS_NS`].
const BUCKETS: [&str; WIDTHS_NS.len()] = ["100us", "1ms"];

/// Sets line rates, recent peak rates and fan-in.
pub(super) fn set(series: &mut SeriesTable, names: &PortNames, ports: &[JoinedPort]) {
    for port in ports {
        let Some(name) = names.name(port.address.to_ip()) else { continue };
        if let Some(rate) = port.line_rate {
            let attributes = Attributes::new([(attribute::PORT.name, name.clone())]);
            series.raise(&catalog::PORT_LINE_RATE, attributes, rate.bps / 8);
        }
        let directions = [(TRANSMIT, port.sent_recently), (RECEIVE, port.received_recently)];
        for (direction, highest) in directions {
            for ((bucket, width_ns), highest) in BUCKETS.into_iter().zip(WIDTHS_NS).zip(highest) {
                let attributes = port_attributes(name.clone(), direction, bucket);
                series.raise(&catalog::PORT_PEAK_RATE, attributes, highest.bps(width_ns) / 8);
            }
        }
        if port.has_roce {
            let [narrow, _] = port.received_recently;
            let attributes = Attributes::new([(attribute::PORT.name, name)]);
            series.raise(&catalog::PORT_FAN_IN, attributes, u64::from(narrow.flows));
        }
    }
}

/// Adds the bursts since the last export; without a line rate there are none.
pub(super) fn add_bursts(
    series: &mut SeriesTable,
    counted: &mut BurstGrowth,
    names: &PortNames,
    tracker: &FlowTracker,
) {
    let mut bursts = BTreeMap::new();
    for port in tracker.ports().ports().iter().filter(|port| port.sent.has_line_rate()) {
        for (direction, meter) in [(TRANSMIT, &port.sent), (RECEIVE, &port.received)] {
            let widths = BUCKETS.into_iter().zip(WIDTHS_NS).zip(meter.finish());
            for ((bucket, width_ns), stats) in widths.filter(|(_, stats)| stats.peak_bytes > 0) {
                let time_ns = stats.buckets_above * width_ns;
                let sums = Sums::timeless([Some(stats.bursts), Some(time_ns)]);
                let key = (port.address.to_ip(), direction, bucket);
                bursts.entry(key).or_insert(sums).join(sums);
            }
        }
    }
    counted.read(bursts, |(address, direction, bucket), [count, time]| {
        let Some(name) = names.name(*address) else { return };
        let attributes = port_attributes(name, direction, bucket);
        series.add(&catalog::PORT_BURSTS, attributes.clone(), count.unwrap_or(0));
        series.add(&catalog::PORT_BURST_TIME, attributes, time.unwrap_or(0));
    });
}

fn port_attributes(name: String, direction: &str, bucket: &str) -> Attributes {
    Attributes::new([
        (attribute::PORT.name, name),
        (attribute::DIRECTION.name, direction.to_owned()),
        (attribute::BUCKET.name, bucket.to_owned()),
    ])
}
