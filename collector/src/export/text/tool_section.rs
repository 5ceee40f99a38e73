//! What outputs of other tools say, a line each: nodes, benchmarks, records of NCCL Inspector.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bit_rate, byte_rate, bytes, counted, duration};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::benchmarks::{BenchmarkReport, InspectorReport};
use railscope_core::report::nodes::NodeReport;
use railscope_core::report::switches::{QosSettingsReport, SwitchReport};

/// Bytes from which a table shows bandwidth; below, it shows latency.
const LARGE: u64 = 1 << 20;

/// Writes them, if there are any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let lines = lines(report, options.path_width());
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for (title, text) in lines.iter().take(options.top) {
        let (title, text) = (label::printable(title), label::printable(text));
        writeln!(out, "{}", sentence::titled(&title, &text, options.width))?;
    }
    options.write_more(lines.len(), out)
}

/// What the first output says, and how many more there are; `None` if there are none.
pub(super) fn summary(report: &Report) -> Option<String> {
    let lines = lines(report, PATH);
    let (title, text) = lines.first()?;
    Some(match lines.len().saturating_sub(1) {
        0 => format!("{title}: {text}"),
        others => format!("{title}: {text}; and {others} more"),
    })
}

/// Characters of a file's name in one sentence.
const PATH: usize = 24;

/// Title and text of each.
pub(in crate::export) fn lines(report: &Report, width: usize) -> Vec<(String, String)> {
    let tables = report.benchmarks.iter().map(|table| ("nccl-tests".to_owned(), of_table(table)));
    let inspector = of_inspector(&report.inspector).map(|text| ("NCCL Inspector".to_owned(), text));
    let nodes = report
        .nodes
        .iter()
        .map(|node| (title(node.host.as_deref(), node.file.as_deref(), width), of_node(node)));
    let switches = report
        .switches
        .iter()
        .map(|one| (title(one.host.as_deref(), one.file.as_deref(), width), of_switch(one)));
    tables.chain(inspector).chain(nodes).chain(switches).collect()
}

/// The name, or the file of what has none.
fn title(host: Option<&str>, file: Option<&str>, width: usize) -> String {
    let file = || file.map(|file| label::file(file, width));
    host.map(str::to_owned).or_else(file).unwrap_or_default()
}

/// `2 ports, PFC 3,4; 160 counters since they were cleared, 12 above 0; ECN marked 1,200 packets; queues up
/// to 2.0 MiB (Ethernet4 queue 3)`.
fn of_switch(switch: &SwitchReport) -> String {
    let mut parts = Vec::new();
    if !switch.ports.is_empty() {
        let up = switch.ports.iter().filter(|port| port.is_up == Some(true)).count();
        let known = switch.ports.iter().any(|port| port.is_up.is_some());
        let up = if known { format!(", {up} up") } else { String::new() };
        let sets: BTreeSet<&[u8]> =
            switch.ports.iter().filter_map(|port| port.pfc_priorities.as_deref()).collect();
        let words = |set: &&[u8]| match set {
            [] => "none".to_owned(),
            set => set.iter().map(u8::to_string).collect::<Vec<_>>().join(","),
        };
        let sets: Vec<String> = sets.iter().map(words).collect();
        let pfc =
            if sets.is_empty() { String::new() } else { format!(", PFC {}", sets.join(" or ")) };
        parts.push(format!("{}{up}{pfc}", counted(switch.ports.len() as u64, "switch port")));
    }
    let rates = switch.counters.iter().filter(|one| one.what.ends_with("_bps"));
    if let Some(busiest) = rates.max_by_key(|one| one.value) {
        let rate = bit_rate(busiest.value as f64);
        parts.push(format!("{} moves up to {rate}", busiest.place));
    }
    if switch.counters_read > 0 {
        let rose = switch.counters.iter().filter_map(|one| one.rise);
        let counters = counted(switch.counters_read, "counter");
        parts.push(match rose.clone().next() {
            Some(_) => {
                format!("{counters} read twice, {} rose", rose.filter(|rise| *rise > 0).count())
            }
            None => {
                format!("{counters} since they were cleared, {} above 0", switch.counters.len())
            }
        });
    }
    let marked = switch.counters.iter().filter(|one| one.what == "ecn_marked");
    let marked: u64 = marked.map(|one| one.rise.unwrap_or(one.value)).sum();
    if marked > 0 {
        parts.push(format!("ECN marked {}", counted(marked, "packet")));
    }
    let peaks = [("queue_peak_bytes", "queues"), ("headroom_peak_bytes", "headroom")];
    for (what, name) in peaks {
        let own = switch.counters.iter().filter(|one| one.what == what);
        if let Some(peak) = own.max_by_key(|one| one.value) {
            parts.push(format!("{name} up to {} ({})", bytes(peak.value), peak.place));
        }
    }
    if !switch.ecn_profiles.is_empty() {
        parts.push(counted(switch.ecn_profiles.len() as u64, "ECN profile"));
    }
    if !switch.qos_maps.is_empty() {
        parts.push(counted(switch.qos_maps.len() as u64, "QoS map"));
    }
    parts.extend(switch.qos_settings.iter().map(of_settings));
    parts.join("; ")
}

/// `ROCE: PFC 3, ECN in queues 0,3, trust both`.
fn of_settings(settings: &QosSettingsReport) -> String {
    let list = |set: &[u8]| match set {
        [] => "none".to_owned(),
        set => set.iter().map(u8::to_string).collect::<Vec<_>>().join(","),
    };
    let pfc = settings.pfc_priorities.as_deref().map(|set| format!("PFC {}", list(set)));
    let ecn = settings.ecn_queues.as_deref().map(|set| format!("ECN in queues {}", list(set)));
    let trust = settings.trust.map(|trust| format!("trust {trust}"));
    let known: Vec<String> = [pfc, ecn, trust].into_iter().flatten().collect();
    match &settings.name {
        Some(name) => format!("{name}: {}", known.join(", ")),
        None => known.join(", "),
    }
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
    if !node.queue_pairs.is_empty() {
        let pids: BTreeSet<u32> = node.queue_pairs.iter().filter_map(|pair| pair.pid).collect();
        let failed = node.queue_pairs.iter().filter(|pair| matches!(pair.state, "ERR" | "SQE"));
        let failed = match failed.count() {
            0 => String::new(),
            failed => format!(", {failed} in state ERR or SQE"),
        };
        let pairs = counted(node.queue_pairs.len() as u64, "queue pair");
        parts.push(format!("{pairs} of {}{failed}", counted(pids.len() as u64, "process")));
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
    for run in &node.providers {
        let providers: BTreeSet<&str> =
            run.endpoints.iter().map(|one| one.provider.as_str()).collect();
        let domains: BTreeSet<&str> =
            run.endpoints.iter().filter_map(|one| one.domain.as_deref()).collect();
        let providers: Vec<&str> = providers.into_iter().collect();
        parts.push(match run.error {
            Some(error) => format!("libfabric: error {error}"),
            None => format!(
                "libfabric: {} on {}",
                providers.join(", "),
                counted(domains.len() as u64, "domain")
            ),
        });
    }
    if let Some(ring) = node.graphs.iter().find(|graph| graph.id == 0) {
        let nics: BTreeSet<u32> = ring.nics.iter().flatten().copied().collect();
        let path = ring.type_inter.as_ref().filter(|_| !nics.is_empty());
        let path = path.map(|path| format!(" at {path}")).unwrap_or_default();
        parts.push(format!(
            "NCCL's ring has {} over {}{path}",
            counted(ring.channels, "channel"),
            counted(nics.len() as u64, "NIC")
        ));
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
