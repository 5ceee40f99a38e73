//! Ports over time: messages of collectives, and what asks senders to slow down or to send again.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::CAPTURE;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use crate::export::port_traffic::{Series, sums};

/// Width of a row.
const SECOND_NS: u64 = 1_000_000_000;

pub(in crate::export::parquet) struct PortsPerSecond;

/// A port in one second.
pub(in crate::export::parquet) struct Row<'a> {
    context: &'a Context<'a>,
    address: String,
    second: u64,
    figures: Figures,
    marks_are_visible: bool,
}

#[derive(Clone, Copy, Default)]
struct Figures {
    tx_bytes: f64,
    rx_bytes: f64,
    rx_packets: f64,
    rx_ce_packets: f64,
    cnps: u64,
    naks: u64,
}

impl Table for PortsPerSecond {
    const NAME: &'static str = "ports_per_second";
    const ABOUT: &'static str = "One row a port and second with traffic of collectives, counted from the start of \
                                 the capture: `transfers[]` and `signals[]` of full detail. A message is spread \
                                 evenly from its first packet to its last, over the first queue pair of its \
                                 connection.";
    type Row<'a> = Row<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        let report = context.report;
        let mut all: BTreeMap<(String, u64), Figures> = BTreeMap::new();
        for ((address, series), seconds) in sums(report, SECOND_NS) {
            for (second, sum) in seconds {
                let figures = all.entry((address.clone(), second)).or_default();
                match series {
                    Series::Sent => figures.tx_bytes = sum,
                    Series::Received => figures.rx_bytes = sum,
                    Series::Packets => figures.rx_packets = sum,
                    Series::Marked => figures.rx_ce_packets = sum,
                }
            }
        }
        let flows: HashMap<u32, &str> =
            report.flows.iter().map(|flow| (flow.id, flow.dst.as_str())).collect();
        for signal in report.signals.iter().flatten() {
            let Some(address) = flows.get(&signal.flow) else { continue };
            let second = u64::try_from(signal.time_ns).unwrap_or(0) / SECOND_NS;
            let figures = all.entry(((*address).to_owned(), second)).or_default();
            match signal.signal {
                "cnp" => figures.cnps += 1,
                _ => figures.naks += 1,
            }
        }
        let marked = report.queue_pairs.iter().filter(|one| one.ce_packets.is_some());
        let visible: HashSet<&str> = marked.map(|one| one.dst.as_str()).collect();
        let row = |((address, second), figures): ((String, u64), Figures)| Row {
            context,
            marks_are_visible: visible.contains(address.as_str()),
            address,
            second,
            figures,
        };
        all.into_iter().map(row).collect()
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.text("address", "IP address of the port.", |row| Some(&row.address));
        to.text("host", "Its host.", |row| row.context.host_of_port(&row.address));
        to.text("device", "RDMA device.", |row| row.context.port(&row.address)?.device.as_deref());
        to.integer("rail", "Its rail.", |row| {
            row.context.port(&row.address).and_then(|port| port.rail)
        });
        to.integer("second", "Number of the second, from 0.", |row| row.second);
        to.time("start_at", "When it began.", |row| {
            let start_ns = row.second.saturating_mul(SECOND_NS);
            Some(row.context.micros(i64::try_from(start_ns).unwrap_or(i64::MAX)))
        });
        to.real("tx_bytes", "Payload sent.", |row| Some(row.figures.tx_bytes));
        to.real("rx_bytes", "Payload received.", |row| Some(row.figures.rx_bytes));
        to.real("rx_packets", "Data packets received.", |row| Some(row.figures.rx_packets));
        to.real("rx_ce_packets", "CE-marked ones among them.", |row| {
            row.marks_are_visible.then_some(row.figures.rx_ce_packets)
        });
        to.integer("cnps", "CNPs that asked it to slow down.", |row| row.figures.cnps);
        to.integer("naks", "NAKs of all kinds that came back to it.", |row| row.figures.naks);
    }
}
