//! The report as one HTML file for people who have no railscope: the verdict first, then charts and
//! tables. Nothing is loaded, and the page is complete without its script, which only zooms, sorts,
//! filters and shows figures where one points.

mod axis;
mod bar;
mod bursts;
mod cause;
mod findings;
mod heat_map;
mod input;
mod iteration_table;
mod lane;
mod lanes;
mod markup;
mod outputs;
mod page;
mod paths;
mod policy;
mod queue_pairs;
mod ring;
mod sampled;
mod table;
mod timeline;
mod unseen;
mod verdict;

use std::io::{self, Write};

use self::markup::{Element, Markup};
use self::page::{Page, sentence_case};
use crate::export::text::quantity::{bytes, counted, duration};
use railscope_core::report::Report;

const PAGE_STYLE: &str = include_str!("page.css");
const PAGE_SCRIPT: &str = include_str!("page.js");

/// Writes `report` as a page. Charts over time need a report with the detail of `Detail::Events`.
///
/// # Errors
///
/// When writing fails.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    let page = Page::new(report);
    let html = Element::new("html").with("lang", "en").child(head(&page)).child(body(&page));
    out.write_all(b"<!DOCTYPE html>\n")?;
    out.write_all(Markup::from(html).as_bytes())?;
    out.write_all(b"\n")
}

fn head(page: &Page<'_>) -> Element {
    let worst = page.report.verdicts.first().map(|verdict| sentence_case(&verdict.headline));
    let title = worst.unwrap_or_else(|| "Report".to_owned());
    let meta = |name: &'static str, content: &'static str| {
        Element::new("meta").with("name", name).with("content", content)
    };
    Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(
            Element::new("meta")
                .with("http-equiv", "Content-Security-Policy")
                .with("content", policy::policy()),
        )
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(meta("referrer", "no-referrer"))
        .child(Element::new("title").text(format!("{title} - railscope")))
        .child(Element::new("style").child(Markup::own(PAGE_STYLE)))
}

fn body(page: &Page<'_>) -> Element {
    let skip = Element::new("a").class("skip").with("href", "#verdict").text("To the verdict");
    let sections = [
        timeline::section(page),
        heat_map::section(page),
        ring::section(page),
        bursts::section(page),
        lanes::section(page),
        queue_pairs::section(page),
        sampled::section(page),
        outputs::section(page),
        findings::section(page),
        unseen::section(page),
    ];
    let main = Element::new("main")
        .child(verdict::section(page))
        .children(sections.into_iter().flatten())
        .child(input::section(page));
    Element::new("body")
        .child(skip)
        .child(cause::patterns())
        .child(header(page))
        .child(main)
        .child(footer(page))
        .child(Element::new("script").child(Markup::own(PAGE_SCRIPT)))
}

/// One line: what was read, when it was captured.
fn header(page: &Page<'_>) -> Element {
    let report = page.report;
    let capture = &report.capture;
    let mut facts = Vec::new();
    if capture.frames > 0 {
        facts.extend(page.day());
        facts.push(duration(capture.duration_ns));
        facts.push(counted(capture.frames, "frame"));
        facts.push(bytes(capture.wire_bytes));
    }
    let ranks: u64 =
        report.communicators.iter().map(|one| one.ranks.len() as u64).max().unwrap_or(0);
    facts.extend((ranks > 0).then(|| counted(ranks, "rank")));
    facts.push(match report.taps.len() {
        0 => "logs or counters only".to_owned(),
        taps => counted(taps as u64, "capture point"),
    });
    let toggle = Element::new("button").with("type", "button").with("id", "theme").flag("hidden");
    Element::new("header")
        .child(Element::new("strong").text("railscope"))
        .child(Element::new("span").text(facts.join(" · ")))
        .child(toggle.text("Dark"))
}

fn footer(page: &Page<'_>) -> Element {
    let tool = format!(
        "railscope {}. Times are relative to the first frame. Everything here, and more, is in \
         railscope analyze --format json.",
        page.report.tool.version
    );
    Element::new("footer").child(Element::new("p").text(tool))
}
