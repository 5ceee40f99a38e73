//! The flows, the worst first: volume, rate and trouble.

use std::io::{self, Write};

use super::communicator_names::CommunicatorNames;
use super::options::TextOptions;
use super::owner;
use super::quantity::{bit_rate, bytes, count, duration, share};
use super::shown::Shown;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::flows::MessagesReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Writes the worst of those shown.
pub(super) fn write(
    report: &Report,
    all: &Shown<'_>,
    names: CommunicatorNames,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if all.rows.is_empty() {
        return Ok(());
    }
    let shown = &all.rows[..all.rows.len().min(options.top)];
    let column =
        |cell: &dyn Fn(&QueuePairReport) -> String| shown.iter().map(|row| cell(row)).collect();
    let some = |of: &dyn Fn(&QueuePairReport) -> u64| {
        shown.iter().map(|row| non_zero(of(row))).collect::<Vec<_>>()
    };
    let mut columns = Vec::new();
    if report.taps.len() > 1 {
        columns.push(Column::words("TAPS", column(&taps)).spare(4));
    }
    columns.extend([
        Column::words("FLOW", column(&|row| name(row, options))),
        Column::numbers("QP", column(&queue_pair)),
        Column::words("RANKS", column(&|row| owner::name(row, names))),
        Column::words("MESSAGES", column(&messages)).spare(1),
        Column::numbers("PAYLOAD", column(&|row| bytes(row.payload_bytes))).spare(3),
        Column::numbers("RATE", column(&rate)).spare(5),
        Column::numbers("RTT p50", column(&round_trip)).spare(2),
        Column::numbers("RETRANS", some(&|row| row.retransmitted_packets)),
        Column::numbers("MISSING", some(&|row| row.missing_packets)),
        Column::numbers("REORDERED", some(&|row| row.out_of_order_packets)),
        Column::numbers("TIMEOUT", some(&|row| row.recoveries("timeout"))),
        Column::numbers("NAK", some(&|row| row.naks.psn_sequence_error + row.fatal_naks())),
        Column::numbers("RNR", some(&|row| row.rnr_naks)),
        Column::numbers("CE", column(&marks)),
        Column::numbers("CNP", some(&|row| row.cnps)),
    ]);
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all.tallies.all, out)
}

/// The taps that captured it, or how many if more than three.
fn taps(row: &QueuePairReport) -> String {
    match row.taps.len() {
        1..=3 => row.taps.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        taps => format!("{taps} taps"),
    }
}

/// In two lines if it would take more than a third of the line.
fn name(row: &QueuePairReport, options: &TextOptions) -> String {
    let line = format!("{} → {}", row.src, row.dst);
    if line.chars().count() > options.width / 3 {
        return format!("{}\n→ {}", row.src, row.dst);
    }
    line
}

/// The destination's number; `#2` if it is the second connection with that number.
fn queue_pair(row: &QueuePairReport) -> String {
    let reuse = if row.epoch > 0 { format!(" #{}", row.epoch + 1) } else { String::new() };
    format!("{:#x}{reuse}", row.dest_qpn)
}

/// `1,371 SEND`: the most frequent kind. `60 SEND +30`: and 30 of other kinds.
fn messages(row: &QueuePairReport) -> String {
    let MessagesReport { send, write, write_with_immediate, read, atomic } = row.messages;
    let mut kinds = [
        (send, "SEND"),
        (write, "WRITE"),
        (write_with_immediate, "WRITE_IMM"),
        (read, "READ"),
        (atomic, "ATOMIC"),
    ];
    kinds.sort_by_key(|(messages, _)| std::cmp::Reverse(*messages));
    let [(most, kind), others @ ..] = kinds;
    match others.iter().map(|(messages, _)| messages).sum::<u64>() {
        _ if most == 0 && row.acks > 0 => format!("{} ACK", count(row.acks)),
        _ if most == 0 => "-".to_owned(),
        0 => format!("{} {kind}", count(most)),
        others => format!("{} {kind} +{}", count(most), count(others)),
    }
}

fn rate(row: &QueuePairReport) -> String {
    row.rate_bps.map_or_else(|| "-".to_owned(), |bps| bit_rate(bps as f64))
}

fn round_trip(row: &QueuePairReport) -> String {
    row.ack_rtt_p50_ns.map_or_else(|| "-".to_owned(), duration)
}

fn marks(row: &QueuePairReport) -> String {
    match row.ce_packets {
        None | Some(0) => String::new(),
        Some(ce) => share(ce, row.ce_among_packets),
    }
}

fn non_zero(value: u64) -> String {
    if value == 0 { String::new() } else { count(value) }
}
