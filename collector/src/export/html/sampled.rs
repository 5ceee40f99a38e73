//! What switches sampled: a few facts and a table for each.

use super::markup::Element;
use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::export::text::label::printable;
use crate::export::text::quantity::{bytes, count};
use crate::export::text::sampled_section::{drawn, estimate, lines, share, title};
use railscope_core::report::sampled::SampledReport;

/// Switches that are shown.
const SWITCHES: usize = 16;

/// The section; `None` without sFlow.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let sampled = &page.report.sampled;
    if sampled.is_empty() {
        return None;
    }
    let note = "Estimates from packets that switches drew at random. Each range holds the truth in 95 of 100 \
                cases.";
    let mut section = Element::new("section")
        .with("id", "sampled")
        .child(Element::new("h2").text("Sampled by switches"))
        .child(Element::new("p").text(note));
    if sampled.len() > SWITCHES {
        let shown = format!("The first {SWITCHES} of {}.", count(sampled.len() as u64));
        section = section.child(Element::new("p").text(shown));
    }
    for switch in sampled.iter().take(SWITCHES) {
        let facts = lines(switch).into_iter().map(|line| Element::new("li").text(line));
        section = section
            .child(Element::new("h3").text(printable(&title(switch))))
            .child(Element::new("p").text(drawn(switch)))
            .child(Element::new("ul").children(facts));
        if !switch.pairs.is_empty() {
            section = section.child(talkers(switch));
        }
    }
    Some(section)
}

fn talkers(switch: &SampledReport) -> Table {
    let caption = format!("Pairs of hosts, of {} seen", count(switch.pairs_seen));
    let mut table = Table::new(
        caption,
        &[
            ("From", Align::Words),
            ("To", Align::Words),
            ("Samples", Align::Numbers),
            ("Packets", Align::Numbers),
            ("Bytes", Align::Numbers),
            ("CE", Align::Numbers),
        ],
    );
    for pair in &switch.pairs {
        let marks = pair.ce_share.as_ref().map_or_else(|| "unknown".to_owned(), share);
        table.push(vec![
            Cell::text(pair.src.clone()),
            Cell::text(pair.dst.clone()),
            Cell::text(count(pair.frames.samples)),
            Cell::text(estimate(&pair.frames, count)),
            Cell::text(estimate(&pair.bytes, bytes)),
            Cell::text(marks),
        ]);
    }
    table
}
