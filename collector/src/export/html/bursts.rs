//! Ports at 1 ms and 100 us against their line rate.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::axis::percent;
use super::markup::{Element, Markup};
use super::page::{Page, moment};
use super::table::{Align, Cell, Table};
use crate::export::text::label;
use crate::export::text::quantity::{bit_rate, count, duration, share};
use railscope_core::report::bursts::{BurstDirection, BurstPort};
use railscope_core::report::places::{Plane, PortReport};

/// Rows shown: the burstiest, else the busiest.
const ROWS: usize = 64;

const COLUMNS: &[(&str, Align)] = &[
    ("Port", Align::Words),
    ("Host", Align::Words),
    ("Direction", Align::Words),
    ("Of line rate", Align::Words),
    ("Peak 1 ms", Align::Numbers),
    ("Peak 100 us", Align::Numbers),
    ("Peak at", Align::Numbers),
    ("Bursts", Align::Numbers),
    ("Longest", Align::Numbers),
    ("In bursts", Align::Numbers),
    ("Flows at once", Align::Numbers),
    ("CE in bursts", Align::Numbers),
];

/// One direction of a port.
struct Row<'a> {
    port: &'a PortReport,
    direction: BurstDirection,
    peak_1ms: u64,
    peak_100us: u64,
    /// Bursts at the narrowest width; `None` if the line rate is unknown.
    burst: Option<&'a BurstPort>,
}

/// The section; `None` without ports that carry RoCE.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let mut rows = rows(page);
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|row| {
        let above = row.burst.map_or(0, |burst| burst.time_above_ns);
        Reverse((above, row.peak_100us))
    });
    let all = rows.len();
    rows.truncate(ROWS);
    let mut table = Table::new("Highest rates of ports", COLUMNS);
    rows.iter().for_each(|row| table.push(cells(row)));
    let section = Element::new("section").with("id", "bursts");
    let section = section.child(Element::new("h2").text("Bursts"));
    let note = Element::new("p").class("note").text(note(page, &rows, all));
    let is_drawn = rows.iter().any(|row| row.port.line_rate_bps.is_some());
    Some(section.child(note).children(is_drawn.then(legend)).child(Markup::from(table)))
}

fn rows<'a>(page: &Page<'a>) -> Vec<Row<'a>> {
    let report = page.report;
    let narrowest =
        report.bursts.as_deref().and_then(|all| all.iter().min_by_key(|one| one.bucket_ns));
    let busiest = narrowest.into_iter().flat_map(|one| &one.ports).filter(|one| one.is_busiest_tap);
    let bursts: BTreeMap<(&str, bool), &BurstPort> = busiest
        .map(|one| ((one.address.as_str(), one.direction == BurstDirection::Tx), one))
        .collect();
    let ports = report.ports.iter().filter(|port| port.plane == Plane::Backend);
    let both = ports.flat_map(|port| {
        let peaks = port.peaks;
        [
            (port, BurstDirection::Tx, peaks.tx_1ms_bps, peaks.tx_100us_bps),
            (port, BurstDirection::Rx, peaks.rx_1ms_bps, peaks.rx_100us_bps),
        ]
    });
    let rows = both.map(|(port, direction, peak_1ms, peak_100us)| {
        let key = (port.address.as_str(), direction == BurstDirection::Tx);
        Row { port, direction, peak_1ms, peak_100us, burst: bursts.get(&key).copied() }
    });
    rows.filter(|row| row.peak_100us > 0).collect()
}

fn note(page: &Page<'_>, rows: &[Row<'_>], all: usize) -> String {
    let width = page.report.bursts.as_deref().and_then(<[_]>::first);
    let mut text = match width {
        None => "Burst detection and bars need the line rate: --line-rate 400G.".to_owned(),
        Some(width) => format!(
            "A burst is at least 100 us above {:.0} % of the line rate.",
            width.threshold_of_line_rate * 100.0
        ),
    };
    let has_bursts = rows.iter().any(|row| row.burst.is_some_and(|burst| burst.bursts > 0));
    if width.is_some() && !has_bursts {
        text.push_str(" There were none.");
    }
    if all > rows.len() {
        text.push_str(&format!(
            " The first {} of {} directions of ports.",
            rows.len(),
            count(all as u64)
        ));
    }
    text
}

fn legend() -> Element {
    let entry = |class: &'static str, text: &'static str| {
        let bar =
            Element::new("rect").with("width", 22).with("height", 8).with("y", 2).class(class);
        let swatch = Element::new("svg").with("width", 22).with("height", 12);
        Element::new("li").child(swatch.with("aria-hidden", "true").child(bar)).text(text)
    };
    Element::new("ul")
        .class("legend")
        .child(entry("wide", "over 1 ms"))
        .child(entry("narrow", "over 100 us"))
}

fn cells(row: &Row<'_>) -> Vec<Cell> {
    let unknown = "line rate unknown";
    let in_bursts = |shape: &dyn Fn(&BurstPort) -> Cell| {
        row.burst.map_or_else(|| Cell::unknown(unknown), shape)
    };
    let direction = match row.direction {
        BurstDirection::Tx => "sends",
        BurstDirection::Rx => "receives",
    };
    vec![
        Cell::text(label::name(&row.port.address)),
        Cell::text(row.port.host.as_deref().map(label::name).unwrap_or_default()),
        Cell::text(direction),
        row.port.line_rate_bps.map_or_else(|| Cell::unknown(unknown), |rate| bar(row, rate)),
        Cell::number(row.peak_1ms, bit_rate(row.peak_1ms as f64)),
        Cell::number(row.peak_100us, bit_rate(row.peak_100us as f64)),
        in_bursts(&|one| Cell::text(moment(one.peak_at_ns)).sorted_by(one.peak_at_ns as f64)),
        in_bursts(&|one| Cell::number(one.bursts, count(one.bursts))),
        in_bursts(&|one| Cell::number(one.longest_ns, duration(one.longest_ns))),
        in_bursts(&|one| Cell::number(one.time_above_ns, duration(one.time_above_ns))),
        in_bursts(&|one| match row.direction {
            BurstDirection::Rx => Cell::number(one.max_incast_flows.into(), one.max_incast_flows),
            BurstDirection::Tx => Cell::text(""),
        }),
        in_bursts(&|one| match one.ce_total {
            0 => Cell::text(""),
            total => Cell::number(one.ce_in_bursts, share(one.ce_in_bursts, total)),
        }),
    ]
}

/// Both peaks as bars up to the line rate.
fn bar(row: &Row<'_>, line_rate_bps: u64) -> Cell {
    let most = line_rate_bps.max(1) as f64;
    // Preambles and gaps between frames can exceed the nominal rate a little.
    let width = |bps: u64| (bps as f64 / most).min(1.0);
    let part = |bps: u64, class: &'static str, y: u32| {
        let bar = Element::new("rect").with("width", percent(width(bps))).with("height", 7);
        bar.with("y", y).class(class)
    };
    let text = format!("{} of {}", share(row.peak_100us, line_rate_bps), bit_rate(most));
    let rail = Element::new("rect").class("rail").with("width", "100%").with("height", 16);
    let chart = Element::new("svg").class("gauge").with("height", 16).with("aria-hidden", "true");
    let chart = chart.child(rail).child(part(row.peak_1ms, "wide", 1)).child(part(
        row.peak_100us,
        "narrow",
        8,
    ));
    let text = Element::new("small").text(text);
    let both: Markup = [chart, text].into_iter().collect();
    Cell::markup(both).sorted_by(row.peak_100us as f64 / most)
}
