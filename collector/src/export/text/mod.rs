//! The report for people: one screen, sickest first.

mod connection;
mod flow_table;
mod notes;
mod pause_table;
mod port_table;
mod quantity;
mod style;
mod table;
mod troubles;

use std::io::{self, Write};

use self::connection::Connection;
use self::quantity::{bytes, count, counted, duration};
use self::style::{Meaning, paint};
use crate::report::Report;
use crate::report::flows::FlowReport;
use crate::report::places::Plane;

/// Taps that the header names.
const TAPS_SHOWN: usize = 8;

/// How to show a report.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// Rows of each table.
    pub top: usize,
}

/// Writes `report` for people, with the flows that `shows` holds for.
///
/// # Errors
///
/// When writing fails.
pub fn write(
    report: &Report,
    shows: impl Fn(&FlowReport) -> bool,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let connections = connection::sickest_first(report, shows);
    header(report, &connections, &mut out)?;
    troubles::write(report, &connections, &mut out)?;
    flow_table::write(report, &connections, options, &mut out)?;
    port_table::write(report, options, &mut out)?;
    pause_table::write(report, options, &mut out)?;
    notes::write(report, &mut out)
}

/// What was read, and what it holds.
fn header(report: &Report, connections: &[Connection<'_>], out: &mut impl Write) -> io::Result<()> {
    let capture = &report.capture;
    let title = match report.taps.as_slice() {
        [tap] => tap.file.clone(),
        taps => format!("{} taps", taps.len()),
    };
    writeln!(
        out,
        "{}  {} frames, {} in {}",
        paint(Meaning::Heading, title),
        count(capture.frames),
        bytes(capture.wire_bytes),
        duration(capture.duration_ns),
    )?;
    if report.taps.len() > 1 {
        for tap in report.taps.iter().take(TAPS_SHOWN) {
            let interface =
                tap.interface.as_ref().map(|name| format!(" [{name}]")).unwrap_or_default();
            let frames = count(tap.frames);
            writeln!(out, "  tap {}  {}{interface}  {frames} frames", tap.id, tap.file)?;
        }
        if report.taps.len() > TAPS_SHOWN {
            writeln!(out, "  and {} more taps", report.taps.len() - TAPS_SHOWN)?;
        }
    }
    let kinds = [
        (capture.roce_frames, "RoCEv2"),
        (capture.tcp_frames, "TCP"),
        (capture.pfc_frames, "pause"),
        (capture.other_frames, "other"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(frames, _)| *frames > 0)
        .map(|(frames, name)| format!("{} {name}", count(*frames)))
        .collect();
    let ports = report.ports.iter().filter(|port| port.plane == Plane::Backend).count();
    let flows = connections.iter().filter(|connection| connection.carries_data()).count();
    writeln!(
        out,
        "{}; {} RDMA ports, {} with data",
        kinds.join(", "),
        count(ports as u64),
        counted(flows as u64, "flow")
    )
}
