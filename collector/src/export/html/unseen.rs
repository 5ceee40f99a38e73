//! What the input cannot show: what was missed, what could not be checked, and what is not certain.

use std::collections::BTreeMap;

use super::markup::{Element, Markup};
use super::page::{PATH_WIDTH, Page, sentence_case};
use super::table::{Align, Cell, Table};
use crate::export::text::quantity::{count, counted};
use crate::export::text::{clock_lines, notes, unlinked};
use railscope_core::model::health::event::HealthEvent;

/// Sentences of one kind shown.
const LINES: usize = 40;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let report = page.report;
    let mut lines = notes::lines(report, report.queue_pair_tallies);
    // Said below, with what to do.
    lines.retain(|line| !line.contains(" not checked: no "));
    lines.extend(clock_lines::lines(report, PATH_WIDTH));
    if !report.communicators.is_empty() {
        lines.extend(report.unlinked.iter().map(unlinked::line));
    }
    let left = lines.len().saturating_sub(LINES);
    let shown = lines.iter().take(LINES).map(|line| Element::new("li").text(sentence_case(line)));
    let more = (left > 0).then(|| Element::new("li").text(counted(left as u64, "more line")));
    let list = (!lines.is_empty()).then(|| Element::new("ul").children(shown).children(more));
    let parts = [unchecked(page), health(page)];
    if list.is_none() && parts.iter().all(Option::is_none) {
        return None;
    }
    let section = Element::new("section").with("id", "unseen");
    let section = section.child(Element::new("h2").text("Not seen, or not certain"));
    Some(section.children(list).children(parts.into_iter().flatten()))
}

/// Findings that were not checked, by what they need.
fn unchecked(page: &Page<'_>) -> Option<Markup> {
    let mut needs: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for one in &page.report.findings_not_checked {
        needs.entry((one.needs, one.missing)).or_default().push(one.id);
    }
    let columns = [
        ("Not checked for lack of", Align::Words),
        ("How to provide it", Align::Words),
        ("Findings", Align::Words),
    ];
    let mut table = Table::new("Findings that were not checked", &columns);
    for ((need, missing), ids) in &needs {
        let ids = ids.join(", ");
        table.push(vec![Cell::text(need), Cell::text(sentence_case(missing)), Cell::text(ids)]);
    }
    (!needs.is_empty()).then(|| table.into())
}

/// Counters of what was missed, folded: the sentences above say what matters.
fn health(page: &Page<'_>) -> Option<Markup> {
    let known = HealthEvent::ALL
        .iter()
        .filter_map(|event| page.report.health.get(event.name()).map(|value| (event, *value)));
    let columns = [("Counter", Align::Words), ("Count", Align::Numbers), ("Meaning", Align::Words)];
    let mut table = Table::new("Health: what was missed", &columns);
    let mut rows = 0_u64;
    for (event, value) in known {
        table.push(vec![
            Cell::text(event.name()),
            Cell::number(value, count(value)),
            Cell::text(event.about()),
        ]);
        rows += 1;
    }
    let summary = Element::new("summary").text(counted(rows, "health counter"));
    (rows > 0).then(|| Element::new("details").child(summary).child(Markup::from(table)).into())
}
