//! The last section: what was read, and with which options.

use super::markup::{Element, Markup};
use super::page::{PATH_WIDTH, Page};
use super::table::{Align, Cell, Table};
use crate::export::text::label;
use crate::export::text::quantity::{count, counted};
use railscope_core::report::taps::TapReport;

/// Options that change nothing that a page shows, or have a value on every run.
const HIDDEN: &[&str] = &["detail", "max_flows", "max_messages"];

/// Rows of the table.
const ROWS: usize = 64;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Element {
    let report = page.report;
    let options = report.tool.options.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str()));
    let options: Vec<String> =
        options.map(|(name, value)| format!("--{} {value}", name.replace('_', "-"))).collect();
    let options = (!options.is_empty()).then(|| {
        let text = format!("Options: {}", options.join(" "));
        Element::new("p").class("note").text(text)
    });
    let logs = report.logs.files.iter().map(|file| label::file(&file.file, PATH_WIDTH));
    let logs: Vec<String> = logs.take(ROWS).collect();
    let logs = (!logs.is_empty())
        .then(|| Element::new("p").class("note").text(format!("NCCL logs: {}", logs.join(", "))));
    let nics = (!report.counters.is_empty()).then(|| {
        let text = format!("Counters of {}.", counted(report.counters.len() as u64, "NIC"));
        Element::new("p").class("note").text(text)
    });
    let section = Element::new("section").with("id", "input");
    let section = section.child(Element::new("h2").text("Input"));
    section.children(taps(&report.taps)).children(logs).children(nics).children(options)
}

fn taps(all: &[TapReport]) -> Option<Markup> {
    let columns = [
        ("Capture", Align::Words),
        ("Interface", Align::Words),
        ("Frames", Align::Numbers),
        ("Lost", Align::Numbers),
        ("Link of", Align::Words),
    ];
    let caption = match all.len() {
        ..=ROWS => "Captures".to_owned(),
        many => format!("The first {ROWS} of {} captures", count(many as u64)),
    };
    let mut table = Table::new(caption, &columns);
    for tap in all.iter().take(ROWS) {
        let near = tap.hosts_near.iter().take(4).map(|host| label::name(&host.address));
        table.push(vec![
            Cell::text(label::file(&tap.file, PATH_WIDTH)),
            Cell::text(tap.interface.as_deref().map(label::name).unwrap_or_default()),
            Cell::number(tap.frames, count(tap.frames)),
            Cell::number(tap.lost_frames, count(tap.lost_frames)),
            Cell::text(near.collect::<Vec<_>>().join(", ")),
        ]);
    }
    (!all.is_empty()).then(|| table.into())
}
