//! Congestion signals: CE marks and CNPs by port, pause by station and priority.

use std::collections::BTreeMap;

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use railscope_core::report::Report;
use railscope_core::report::pfc::PfcReport;
use railscope_core::report::words::number::{count, duration, share};

/// Signals about the queue pairs that send to a port.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// Packets with a CE mark; `None` if no tap could see any.
    ce: Option<u64>,
    /// The packets that the marked ones are among.
    among: u64,
    cnps: u64,
    /// Queue pairs with marked packets.
    flows: u64,
}

pub(super) fn grid(report: &Report) -> Grid {
    let mut ports: BTreeMap<&str, Marks> = BTreeMap::new();
    for one in &report.queue_pairs {
        let marks = ports.entry(one.dst.as_str()).or_default();
        if let Some(ce) = one.ce_packets {
            marks.ce = Some(marks.ce.unwrap_or(0) + ce);
            marks.among += one.ce_among_packets;
            marks.flows += u64::from(ce > 0);
        }
        marks.cnps += one.cnps;
    }
    let mut marked: Vec<_> =
        ports.into_iter().filter(|(_, one)| one.ce.unwrap_or(0) + one.cnps > 0).collect();
    marked.sort_by_key(|(_, one)| std::cmp::Reverse((one.ce, one.cnps)));
    let pauses = report.pfc.iter().map(pause);
    Grid {
        headings: vec![
            words("WHERE"),
            words("PRIORITY"),
            numbers("CE"),
            numbers("OF PACKETS"),
            numbers("FLOWS"),
            numbers("CNP"),
            numbers("PAUSES"),
            numbers("PAUSED"),
            numbers("LONGEST"),
        ],
        rows: marked.into_iter().map(|(port, one)| marks(port, one)).chain(pauses).collect(),
        empty: "No CE mark, CNP or pause frame seen.".to_owned(),
        is_list: false,
    }
}

fn marks(port: &str, one: Marks) -> Row {
    let part = one.ce.filter(|ce| *ce > 0).map(|ce| share(ce, one.among));
    Row {
        cells: vec![
            Cell::word(format!("to {port}")),
            Cell::default(),
            Cell::some(one.ce, count),
            Cell::word(part.unwrap_or_default()),
            Cell::some(one.ce.map(|_| one.flows), count),
            Cell::some(Some(one.cnps), count),
            Cell::default(),
            Cell::default(),
            Cell::default(),
        ],
        tone: Tone::Odd,
        detail: match one.ce {
            Some(1..) => format!("Switches marked packets on their way to {port}"),
            _ => format!("Senders to {port} got CNPs; no CE mark was captured"),
        },
    }
}

fn pause(one: &PfcReport) -> Row {
    Row {
        cells: vec![
            Cell::word(format!("from {}", one.station)),
            Cell::word(one.priority.map_or_else(|| "all".to_owned(), |one| one.to_string())),
            Cell::default(),
            Cell::default(),
            Cell::default(),
            Cell::default(),
            Cell::some(Some(one.pause_frames), count),
            Cell::some(one.paused_ns, duration),
            Cell::some(one.longest_ns, duration),
        ],
        tone: if one.storms.unwrap_or(0) > 0 { Tone::Bad } else { Tone::Odd },
        detail: format!(
            "{} asked the other end of its link to pause ({})",
            one.station, one.source
        ),
    }
}
