//! Ports: addresses that send or receive.

use std::collections::HashMap;

use super::CAPTURE;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::bursts::{BurstDirection, BurstPort};
use railscope_core::report::congestion::CongestionReport;
use railscope_core::report::places::PortReport;

pub(in crate::export::parquet) struct Ports;

/// A port, with what other sections know of it.
pub(in crate::export::parquet) struct Row<'a> {
    context: &'a Context<'a>,
    port: &'a PortReport,
    host: Option<&'a str>,
    firmware: Option<&'a str>,
    congestion: Option<&'a CongestionReport>,
    /// What it received, in the narrowest buckets.
    bursts: Option<&'a BurstPort>,
}

impl Table for Ports {
    const NAME: &'static str = "ports";
    const ABOUT: &'static str = "One row a port: `ports[]`, with its part of `congestion[]`, `bursts[]` (what it \
                                 received, narrowest buckets, busiest tap) and `nodes[].ports[]`.";
    type Row<'a> = Row<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        let report = context.report;
        let congestion: HashMap<&str, &CongestionReport> =
            report.congestion.iter().map(|one| (one.address.as_str(), one)).collect();
        let narrowest = report.bursts.iter().flatten().min_by_key(|width| width.bucket_ns);
        let bursts = narrowest.into_iter().flat_map(|width| &width.ports);
        let received =
            bursts.filter(|one| one.is_busiest_tap && one.direction == BurstDirection::Rx);
        let bursts: HashMap<&str, &BurstPort> =
            received.map(|one| (one.address.as_str(), one)).collect();
        let devices = report.nodes.iter().flat_map(|node| {
            node.ports.iter().map(move |port| ((node.host.as_deref(), port.device.as_str()), port))
        });
        let firmware: HashMap<(Option<&str>, &str), &str> =
            devices.filter_map(|(key, port)| Some((key, port.firmware.as_deref()?))).collect();
        let row = |port: &'a PortReport| {
            let address = port.address.as_str();
            let host = context.host_of_port(address);
            let device = port.device.as_deref();
            Row {
                context,
                port,
                host,
                // A node without a name may be any.
                firmware: host
                    .zip(device)
                    .and_then(|(host, device)| firmware.get(&(Some(host), device)).copied()),
                congestion: congestion.get(address).copied(),
                bursts: bursts.get(address).copied(),
            }
        };
        report.ports.iter().map(row).collect()
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.text("address", "IP address.", |row| Some(&row.port.address));
        to.text("host", "Its host: name, else what identifies it.", |row| row.host);
        to.text("device", "RDMA device.", |row| row.port.device.as_deref());
        to.integer("rail", "Its rail.", |row| row.port.rail);
        to.text("mac", "Ethernet address.", |row| row.port.mac.as_deref());
        to.integer("line_rate_bps", "Line rate.", |row| row.port.line_rate_bps);
        to.text("firmware", "Firmware of its device (`nodes[].ports[]`).", |row| row.firmware);
        to.integer("tx_100us_bps", "Highest rate sent, over 100 us (`peaks`).", |row| {
            row.port.peaks.tx_100us_bps
        });
        to.integer("tx_1ms_bps", "Over 1 ms.", |row| row.port.peaks.tx_1ms_bps);
        to.integer("rx_100us_bps", "Highest rate received, over 100 us.", |row| {
            row.port.peaks.rx_100us_bps
        });
        to.integer("rx_1ms_bps", "Over 1 ms.", |row| row.port.peaks.rx_1ms_bps);
        to.integer("ce_packets", "CE-marked packets to it; null also without any signal.", |row| {
            row.congestion.and_then(|one| one.ce_packets)
        });
        to.integer("ce_among_packets", "Packets that were checked for marks.", |row| {
            row.congestion.map(|one| one.ce_among_packets)
        });
        to.integer("marked_queue_pairs", "Queue pairs with CE-marked packets.", |row| {
            row.congestion.map(|one| one.marked_queue_pairs)
        });
        to.integer("cnps", "CNPs to its senders.", |row| row.congestion.map(|one| one.cnps));
        to.integer("rx_bursts", "Bursts received.", |row| row.bursts.map(|one| one.bursts));
        to.integer("rx_longest_burst_ns", "The longest one.", |row| {
            row.bursts.map(|one| one.longest_ns)
        });
        to.integer("rx_burst_ns", "Time in bursts.", |row| row.bursts.map(|one| one.time_above_ns));
        to.integer("rx_max_incast_flows", "Most flows at once.", |row| {
            row.bursts.map(|one| one.max_incast_flows)
        });
    }
}
