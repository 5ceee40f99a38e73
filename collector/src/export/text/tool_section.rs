//! What outputs of other tools say, a line each: nodes, benchmarks, records of NCCL Inspector.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bit_rate, byte_rate, bytes, counted, duration};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::benchmarks::{BenchmarkReport, InspectorReport};
use railscope_core::report::nodes::NodeReport;

/// Bytes from which a table tells bandwidth; below, it tells latency.
const LARGE: u64 = 1 << 20;

/// Writes them, if there are any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let tables = report.benchmarks.iter().map(|table| ("nccl-tests".to_owned(), of_table(table)));
    let inspector = of_inspector(&report.inspector).map(|text| ("NCCL Inspector".to_owned(), text));
    let nodes = report.nodes.iter().map(|node| (title(node, options), of_node(node)));
    let lines: Vec<(String, String)> = tables.chain(inspector).chain(nodes).collect();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for (title, text) in lines.iter().take(options.top) {
        let (title, text) = (label::printable(title), label::printable(text));
        writeln!(out, "{}", sentence::titled(&title, &text, options.width))?;
    }
    options.write_more(lines.len(), out)
}

fn title(node: &NodeReport, options: &TextOptions) -> String {
    let file = || node.file.as_ref().map(|file| label::file(file, options.path_width()));
    node.host.clone().or_else(file).unwrap_or_default()
}

/// `all_reduce of 2 ranks: 3.15 GB/s bus bandwidth at 256 MiB, 64.8 us at 4 B, no wrong value`.
fn of_table(table: &BenchmarkReport) -> String {
    let operation = table.operation.as_deref().unwrap_or("a collective");
    let ranks = table.ranks.map(|ranks| format!(" of {}", counted(u64::from(ranks), "rank")));
    let hosts = table.hosts.map(|hosts| format!(" on {}", counted(u64::from(hosts), "host")));
    let mut parts = Vec::new();
    let largest = table.largest_bytes.unwrap_or(0);
    match &table.peak {
        Some(peak) if largest >= LARGE => {
            let rate = byte_rate(peak.figures.busbw_bytes_per_s);
            let share = table.line_rate_bps.filter(|rate| *rate > 0).map(|line_rate| {
                let per_cent =
                    u128::from(peak.figures.busbw_bytes_per_s) * 800 / u128::from(line_rate);
                format!(
                    " ({per_cent} % of {} that a node's ports carry)",
                    bit_rate(line_rate as f64)
                )
            });
            let share = share.unwrap_or_default();
            parts.push(format!("{rate} bus bandwidth at {}{share}", bytes(peak.bytes)));
        }
        _ => parts.push(format!("no size above {}, so no bandwidth", bytes(largest))),
    }
    if let Some(smallest) = &table.smallest {
        let time = duration(smallest.figures.time_ns);
        parts.push(format!("{time} at {}", bytes(smallest.bytes)));
    }
    parts.push(match table.wrong {
        None => "results not checked".to_owned(),
        Some(0) => "no wrong value".to_owned(),
        Some(wrong) => counted(wrong, "wrong value"),
    });
    format!(
        "{operation}{}{}, {}: {}",
        ranks.unwrap_or_default(),
        hosts.unwrap_or_default(),
        counted(table.rows.len() as u64, "size"),
        parts.join(", ")
    )
}

/// `2 records, 2 communicators: AllReduce 16 GiB 485 GB/s bus bandwidth, ...`, the slowest first.
fn of_inspector(records: &[InspectorReport]) -> Option<String> {
    let mut slowest: Vec<&InspectorReport> = records.iter().collect();
    slowest.sort_by_key(|record| record.busbw_bytes_per_s);
    let first = slowest.first()?;
    let communicators: BTreeSet<&str> =
        records.iter().map(|record| record.communicator.as_str()).collect();
    Some(format!(
        "{} of {}; slowest: {} of {} in {}, {} bus bandwidth (rank {})",
        counted(records.len() as u64, "collective"),
        counted(communicators.len() as u64, "communicator"),
        first.operation,
        bytes(first.bytes),
        duration(first.time_ns),
        byte_rate(first.busbw_bytes_per_s),
        first.rank
    ))
}

/// `8 RDMA ports, 4 active; 6 GIDs, 1 routable; PFC 3, trust dscp; GPUs to NICs PIX to SYS`.
fn of_node(node: &NodeReport) -> String {
    let mut parts = Vec::new();
    if !node.ports.is_empty() {
        let active = node.ports.iter().filter(|port| port.state == Some("active")).count();
        parts.push(format!("{}, {active} active", counted(node.ports.len() as u64, "RDMA port")));
    }
    if !node.gids.is_empty() {
        let routable = node.gids.iter().filter(|gid| gid.is_routable).count();
        parts.push(format!("{}, {routable} routable", counted(node.gids.len() as u64, "GID")));
    }
    for qos in &node.qos {
        let pfc = qos.pfc_priorities.as_ref().map(|priorities| match priorities.as_slice() {
            [] => "no PFC".to_owned(),
            on => format!("PFC {}", on.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
        });
        let trust = qos.trust.map(|trust| format!("trust {trust}"));
        let interface = qos.interface.as_ref().map(|name| format!("{name} "));
        let both: Vec<String> = pfc.into_iter().chain(trust).collect();
        parts.push(format!("{}{}", interface.unwrap_or_default(), both.join(", ")));
    }
    if let Some(known) = &node.distances {
        let gpus = counted(known.gpus.len() as u64, "GPU");
        parts.push(match known.nics.len() {
            0 => format!("{gpus}, no NIC listed"),
            nics => {
                let within = known.each_gpu_within;
                let nearest = within.map(|name| format!(", each GPU has one at {name} or nearer"));
                format!("{gpus}, {}{}", counted(nics as u64, "NIC"), nearest.unwrap_or_default())
            }
        });
    }
    for totals in &node.totals {
        let device = totals.device.as_deref().map_or(String::new(), |device| format!("{device} "));
        let counted_some = totals.counted.len();
        let counters = counted(totals.counters, "counter");
        parts.push(match totals.is_read_twice {
            true => format!("{device}{counters} read twice, {counted_some} rose"),
            false => format!("{device}{counters} since boot, {counted_some} above 0"),
        });
    }
    parts.join("; ")
}
