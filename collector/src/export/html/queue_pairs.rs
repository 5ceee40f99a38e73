//! The queue pairs, the worst first.

use super::markup::{Element, Markup};
use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::export::text::quantity::{bit_rate, bytes, count, counted, duration, share};
use crate::export::text::{label, owner};
use railscope_core::report::queue_pairs::QueuePairReport;

/// Rows shown.
const ROWS: usize = 500;

const COLUMNS: &[(&str, Align)] = &[
    ("From → to", Align::Words),
    ("QP", Align::Numbers),
    ("Ranks", Align::Words),
    ("Severity", Align::Words),
    ("Payload", Align::Numbers),
    ("Rate", Align::Numbers),
    ("RTT p50", Align::Numbers),
    ("Retransmitted", Align::Numbers),
    ("Missing", Align::Numbers),
    ("Reordered", Align::Numbers),
    ("Timeouts", Align::Numbers),
    ("NAKs", Align::Numbers),
    ("RNR NAKs", Align::Numbers),
    ("CE marks", Align::Numbers),
    ("CNPs", Align::Numbers),
];

/// The section; `None` without RoCE.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let all = &page.queue_pairs;
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new("Queue pairs", COLUMNS).filtered("queue pairs");
    all.iter().take(ROWS).for_each(|one| table.push(row(page, one)));
    let note = match all.len() {
        ..=ROWS => format!(
            "{}, the worst first: by severity, then by payload.",
            counted(all.len() as u64, "queue pair")
        ),
        many => format!(
            "The first {ROWS} of {} queue pairs: the worst first, then by payload. \
             --format json has all.",
            count(many as u64)
        ),
    };
    let section = Element::new("section").with("id", "queue-pairs");
    let section = section.child(Element::new("h2").text("Queue pairs"));
    Some(section.child(Element::new("p").class("note").text(note)).child(Markup::from(table)))
}

fn row(page: &Page<'_>, one: &QueuePairReport) -> Vec<Cell> {
    let reuse = if one.epoch > 0 { format!(" #{}", one.epoch + 1) } else { String::new() };
    let naks = one.naks.psn_sequence_error + one.fatal_naks();
    let timeouts = one.recoveries("timeout");
    let hidden = "captured only at the sender, before any switch";
    let marks = one.ce_packets.map_or_else(
        || Cell::unknown(hidden),
        |ce| {
            let text = if ce == 0 {
                count(ce)
            } else {
                format!("{} ({})", count(ce), share(ce, one.ce_among_packets))
            };
            Cell::number(ce, text)
        },
    );
    let rank = match one.severity {
        Some("critical") => 0.0,
        Some("warning") => 1.0,
        Some(_) => 2.0,
        None => 3.0,
    };
    vec![
        Cell::text(format!("{} → {}", label::name(&one.src), label::name(&one.dst))),
        Cell::text(format!("{:#x}{reuse}", one.dest_qpn)).sorted_by(f64::from(one.dest_qpn)),
        Cell::text(owner::name(one, page.names)),
        Cell::text(one.severity.unwrap_or_default()).sorted_by(rank),
        Cell::number(one.payload_bytes, bytes(one.payload_bytes)),
        Cell::maybe(one.rate_bps, |bps| bit_rate(bps as f64), "a single frame"),
        Cell::maybe(one.ack_rtt_p50_ns, duration, "no ACK measured"),
        Cell::number(one.retransmitted_packets, count(one.retransmitted_packets)),
        Cell::number(one.missing_packets, count(one.missing_packets)),
        Cell::number(one.out_of_order_packets, count(one.out_of_order_packets)),
        Cell::number(timeouts, count(timeouts)),
        Cell::number(naks, count(naks)),
        Cell::number(one.rnr_naks, count(one.rnr_naks)),
        marks,
        Cell::number(one.cnps, count(one.cnps)),
    ]
}
