//! Queue pairs with data, the sickest first.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::connection::{self, Connection};
use crate::export::text::owner;
use railscope_core::model::quantity::{bytes, count, duration};
use railscope_core::report::Report;

pub(super) fn grid(report: &Report) -> Grid {
    let names = CommunicatorNames::new(&report.communicators);
    let all = connection::sickest_first(report, |_| true);
    Grid {
        headings: vec![
            words("FLOW"),
            numbers("QP"),
            words("RANKS"),
            numbers("PAYLOAD"),
            numbers("RTT p50"),
            numbers("RESENT"),
            numbers("MISSING"),
            numbers("NAK"),
            numbers("RNR"),
            numbers("TIMEOUT"),
            numbers("CE"),
            numbers("CNP"),
        ],
        rows: all.iter().map(|one| row(one, names)).collect(),
        empty: "no RoCE with data yet".to_owned(),
    }
}

fn row(one: &Connection<'_>, names: CommunicatorNames) -> Row {
    let flow = one.flow;
    let some = |value: u64| Cell::some(Some(value), count);
    let naks = one.sequence_naks().saturating_add(one.fatal_naks());
    let (marked, _) = one.ce_among();
    let ranks = owner::name(flow, names);
    let reason = flow.owner.as_ref().and_then(|owner| owner.why_unknown.clone());
    Row {
        cells: vec![
            Cell::word(format!("{} → {}", flow.src, flow.dst)),
            Cell::number(format!("{:#x}", flow.dest_qpn), u64::from(flow.dest_qpn)),
            Cell::word(ranks.clone()),
            Cell::some(Some(one.payload_bytes()), bytes),
            Cell::some(one.round_trip_ns(), duration),
            some(one.resent()),
            some(one.missing()),
            some(naks),
            some(one.rnr_naks()),
            some(one.timeouts()),
            some(marked),
            some(one.cnps()),
        ],
        tone: match (one.missing() + one.resent() + naks, marked + one.cnps()) {
            (0, 0) => Tone::Plain,
            (0, _) => Tone::Odd,
            _ => Tone::Bad,
        },
        detail: format!(
            "{} QP {} → {} QP {:#x}: {}",
            flow.src,
            flow.source_qpn.map_or_else(|| "unknown".to_owned(), |qpn| format!("{qpn:#x}")),
            flow.dst,
            flow.dest_qpn,
            reason.unwrap_or_else(|| format!("{ranks}, path MTU {}", mtu(flow.path_mtu_bytes))),
        ),
    }
}

fn mtu(bytes: Option<u32>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string())
}
