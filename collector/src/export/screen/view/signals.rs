//! What the fabric signals: CE marks and CNPs by port, pause by station and priority.

use std::collections::BTreeMap;

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use railscope_core::report::Report;
use railscope_core::report::pfc::PfcReport;
use railscope_core::report::words::number::{count, duration, share};

/// What came to a port.
#[derive(Clone, Copy, Default)]
struct Marks {
    ce: u64,
    among: u64,
    cnps: u64,
    flows: u64,
}

pub(super) fn grid(report: &Report) -> Grid {
    let mut ports: BTreeMap<&str, Marks> = BTreeMap::new();
    for one in &report.queue_pairs {
        let marks = ports.entry(one.dst.as_str()).or_default();
        let ce = one.ce_packets.unwrap_or(0);
        marks.ce += ce;
        marks.among += one.ce_among_packets;
        marks.cnps += one.cnps;
        marks.flows += u64::from(ce > 0);
    }
    let mut marked: Vec<_> = ports.into_iter().filter(|(_, one)| one.ce + one.cnps > 0).collect();
    marked.sort_by_key(|(_, one)| std::cmp::Reverse((one.ce, one.cnps)));
    let pauses = report.pfc.iter().map(pause);
    Grid {
        headings: vec![
            words("AT"),
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
        empty: "no CE mark, CNP or pause frame".to_owned(),
    }
}

fn marks(port: &str, one: Marks) -> Row {
    let part = if one.ce == 0 { String::new() } else { share(one.ce, one.among) };
    Row {
        cells: vec![
            Cell::word(format!("towards {port}")),
            Cell::default(),
            Cell::some(Some(one.ce), count),
            Cell::word(part),
            Cell::some(Some(one.flows), count),
            Cell::some(Some(one.cnps), count),
            Cell::default(),
            Cell::default(),
            Cell::default(),
        ],
        tone: Tone::Odd,
        detail: format!("switches marked packets on their way to {port}; its NIC sends CNPs"),
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
        detail: format!("{} asked its link's other end to pause ({})", one.station, one.source),
    }
}
