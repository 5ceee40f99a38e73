//! The flows, the sickest first: how much, how fast, how well.

use std::io::{self, Write};

use super::TextOptions;
use super::connection::Connection;
use super::quantity::{bit_rate, bytes, count, duration, share};
use super::table::{Column, render};
use crate::report::Report;
use crate::report::flows::MessagesReport;

/// Flow names longer than this are broken after the source: two IPv4 addresses fit.
const NAME_WIDTH: usize = 33;

/// Writes the table of flows.
pub(super) fn write(
    report: &Report,
    connections: &[Connection<'_>],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if connections.is_empty() {
        return Ok(());
    }
    let shown = &connections[..connections.len().min(options.top)];
    let column = |cell: &dyn Fn(&Connection<'_>) -> String| shown.iter().map(cell).collect();
    let some = |of: &dyn Fn(&Connection<'_>) -> u64| {
        shown.iter().map(|row| non_zero(of(row))).collect::<Vec<_>>()
    };
    let several_taps = report.taps.len() > 1;
    let mut columns = Vec::new();
    if several_taps {
        columns.push(Column::words("TAPS", column(&taps)));
    }
    columns.extend([
        Column::words("FLOW", column(&name)),
        Column::numbers("QP", column(&|row| format!("{:#x}", row.flow.dest_qpn))),
        Column::words("MESSAGES", column(&messages)),
        Column::numbers("PAYLOAD", column(&|row| bytes(row.flow.payload_bytes))),
        Column::numbers("RATE", column(&rate)),
        Column::numbers("RTT p50", column(&round_trip)),
        Column::optional("RESENT", some(&|row| row.resent())),
        Column::optional("MISSING", some(&|row| row.gaps())),
        Column::optional("LATE", some(&|row| row.late())),
        Column::optional("NAK", some(&|row| row.sequence_naks() + row.fatal_naks())),
        Column::optional("RNR", some(&|row| row.rnr_naks())),
        Column::optional(
            "CE",
            column(&|row| match row.ce() {
                0 => String::new(),
                ce => share(ce, row.flow.frames),
            }),
        ),
        Column::optional("CNP", some(&|row| row.cnps())),
    ]);
    writeln!(out, "\n{}", render(columns))?;
    if shown.len() < connections.len() {
        let more = connections.len() - shown.len();
        writeln!(out, "and {} more: --top {}", count(more as u64), connections.len())?;
    }
    Ok(())
}

/// The taps that saw it, the first few by number.
fn taps(row: &Connection<'_>) -> String {
    match row.taps.as_slice() {
        taps @ [_, ..] if taps.len() <= 3 => {
            taps.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        taps => format!("{} taps", taps.len()),
    }
}

fn name(row: &Connection<'_>) -> String {
    let flow = row.flow;
    let line = format!("{} → {}", flow.src, flow.dst);
    let name = if line.chars().count() > NAME_WIDTH {
        format!("{}\n→ {}", flow.src, flow.dst)
    } else {
        line
    };
    if flow.epoch > 0 { format!("{name} #{}", flow.epoch + 1) } else { name }
}

/// `1,371 SEND`; the commonest kind and whether there are others.
fn messages(row: &Connection<'_>) -> String {
    let MessagesReport { send, write, write_with_immediate, read, atomic } = row.flow.messages;
    let mut kinds = [
        (send, "SEND"),
        (write, "WRITE"),
        (write_with_immediate, "WRITE_IMM"),
        (read, "READ"),
        (atomic, "ATOMIC"),
    ];
    kinds.sort_by_key(|(messages, _)| std::cmp::Reverse(*messages));
    match kinds {
        [(0, _), ..] if row.flow.acks > 0 => format!("{} ACK", count(row.flow.acks)),
        [(0, _), ..] => "-".to_owned(),
        [(most, kind), (0, _), ..] => format!("{} {kind}", count(most)),
        [(most, kind), ..] => format!("{} {kind}+", count(most)),
    }
}

fn rate(row: &Connection<'_>) -> String {
    let duration_ns = row.flow.last_ns - row.flow.first_ns;
    if duration_ns <= 0 {
        return "-".to_owned();
    }
    bit_rate(row.flow.payload_bytes as f64 * 8e9 / duration_ns as f64)
}

fn round_trip(row: &Connection<'_>) -> String {
    row.flow.ack_rtt_ns.as_ref().map_or_else(|| "-".to_owned(), |rtt| duration(rtt.p50))
}

fn non_zero(value: u64) -> String {
    if value == 0 { String::new() } else { count(value) }
}
