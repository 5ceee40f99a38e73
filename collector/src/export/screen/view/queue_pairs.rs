//! Queue pairs with data, the worst first.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::owner;
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::queue_pairs::QueuePairReport;
use railscope_core::report::words::number::{bytes, count, duration};

pub(super) fn grid(report: &Report) -> Grid {
    let names = CommunicatorNames::new(&report.communicators);
    Grid {
        headings: vec![
            words("FLOW"),
            numbers("QP"),
            words("RANKS"),
            numbers("PAYLOAD"),
            numbers("RTT p50"),
            numbers("RETRANS"),
            numbers("MISSING"),
            numbers("NAK"),
            numbers("RNR"),
            numbers("TIMEOUT"),
            numbers("CE"),
            numbers("CNP"),
        ],
        rows: report.queue_pairs.iter().map(|one| row(one, names)).collect(),
        empty: "No RoCE data yet.".to_owned(),
        is_list: false,
    }
}

fn row(one: &QueuePairReport, names: CommunicatorNames) -> Row {
    let some = |value: u64| Cell::some(Some(value), count);
    let naks = one.naks.psn_sequence_error.saturating_add(one.fatal_naks());
    let ranks = owner::name(one, names);
    let reason = one.why_unknown.clone();
    Row {
        cells: vec![
            Cell::word(format!("{} → {}", one.src, one.dst)),
            Cell::number(format!("{:#x}", one.dest_qpn), u64::from(one.dest_qpn)),
            Cell::word(ranks.clone()),
            Cell::some(Some(one.payload_bytes), bytes),
            Cell::some(one.ack_rtt_p50_ns, duration),
            some(one.retransmitted_packets),
            some(one.missing_packets),
            some(naks),
            some(one.rnr_naks),
            some(one.recoveries("timeout")),
            Cell::some(one.ce_packets, count),
            some(one.cnps),
        ],
        tone: match one.severity {
            Some("critical" | "warning") => Tone::Bad,
            Some(_) => Tone::Odd,
            None => Tone::Plain,
        },
        detail: format!(
            "{} QP {} → {} QP {:#x}: {}",
            one.src,
            one.source_qpn.map_or_else(|| "unknown".to_owned(), |qpn| format!("{qpn:#x}")),
            one.dst,
            one.dest_qpn,
            reason.unwrap_or_else(|| {
                format!("{ranks}, path MTU {}", mtu(one.path_mtu_bytes)).into()
            }),
        ),
        facts: facts(one, naks),
    }
}

fn facts(one: &QueuePairReport, naks: u64) -> Facts {
    Facts::default()
        .address("host", [&one.src, &one.dst])
        .address("src", [&one.src, ""])
        .address("dst", [&one.dst, ""])
        .number("qp", [Some(one.dest_qpn), one.source_qpn])
        .number("rank", [one.rank, one.peer_rank])
        .number("peer", [one.rank, one.peer_rank])
        .number("src_rank", [one.rank, None])
        .number("dst_rank", [one.peer_rank, None])
        .number("channel", [one.channel, None])
        .flag("nak", naks > 0)
        .flag("rnr", one.rnr_naks > 0)
        .flag("ce", one.ce_packets.is_some_and(|ce| ce > 0))
        .flag("cnp", one.cnps > 0)
        .flag("retransmitted", one.retransmitted_packets > 0)
}

fn mtu(bytes: Option<u32>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string())
}
