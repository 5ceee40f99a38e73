//! Congestion signals: CE marks and CNPs by port, pause by station and priority.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::congestion::CongestionReport;
use railscope_core::report::pfc::PfcReport;
use railscope_core::report::words::number::{count, duration, share};

pub(super) fn grid(report: &Report) -> Grid {
    let marked = report.congestion.iter().map(marks);
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
        rows: marked.chain(pauses).collect(),
        empty: "No CE mark, CNP or pause frame seen.".to_owned(),
        is_list: false,
    }
}

fn marks(one: &CongestionReport) -> Row {
    let port = &one.address;
    let part = one.ce_packets.filter(|ce| *ce > 0).map(|ce| share(ce, one.ce_among_packets));
    Row {
        cells: vec![
            Cell::word(format!("to {port}")),
            Cell::default(),
            Cell::some(one.ce_packets, count),
            Cell::word(part.unwrap_or_default()),
            Cell::some(one.ce_packets.map(|_| one.marked_queue_pairs), count),
            Cell::some(Some(one.cnps), count),
            Cell::default(),
            Cell::default(),
            Cell::default(),
        ],
        tone: Tone::Odd,
        detail: match one.ce_packets {
            Some(1..) => format!("Switches marked packets on their way to {port}"),
            _ => format!("Senders to {port} got CNPs; no CE mark was captured"),
        },
        facts: Facts::default()
            .address("host", [port, ""])
            .flag("ce", one.ce_packets.is_some_and(|ce| ce > 0))
            .flag("cnp", one.cnps > 0)
            .flag("pause", false),
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
        facts: Facts::default()
            .address("host", ["", ""])
            .flag("ce", false)
            .flag("cnp", false)
            .flag("pause", true),
    }
}
