//! Findings with their evidence and remedy, the worst first.

use super::markup::Element;
use super::page::{PATH_WIDTH, Page, moment, sentence_case};
use super::verdict::badge;
use crate::export::text::finding_list;
use crate::export::text::quantity::{count, counted};
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::findings::FindingReport;

/// Findings shown, and pieces of evidence of each.
const FINDINGS: usize = 60;
const EVIDENCE: usize = 6;

/// Findings whose evidence is not folded.
const OPEN: usize = 3;

/// The section; `None` without findings.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let all = &page.report.findings;
    if all.is_empty() {
        return None;
    }
    let section = Element::new("section").with("id", "findings");
    let section = section.child(Element::new("h2").text("Findings"));
    let shown = (0..).zip(all).take(FINDINGS).map(|(at, one)| finding(page, at, one));
    let left = all.len().saturating_sub(FINDINGS);
    let more = (left > 0).then(|| {
        let text = format!(
            "The first {FINDINGS} of {} findings, the worst first. --format json has all.",
            count(all.len() as u64)
        );
        Element::new("p").class("note").text(text)
    });
    Some(section.children(more).children(shown))
}

fn finding(page: &Page<'_>, at: usize, one: &FindingReport) -> Element {
    let when = one
        .first_ns
        .zip(one.last_ns)
        .map(|(first, last)| format!(", from {} to {}", moment(first), moment(last)));
    let explained = one.explained_by.and_then(|at| page.report.verdicts.get(at));
    let explained = explained.filter(|verdict| verdict.is_problem() && !verdict.is_finding);
    let explained = explained.map(|verdict| {
        let text = format!("Belongs to the verdict: {}", verdict.title);
        Element::new("p").class("note").text(text)
    });
    let about = format!("{}, {}{}", one.id, one.grade, when.unwrap_or_default());
    let shown = one.evidence.iter().take(EVIDENCE).map(|evidence| piece(page, evidence));
    let left = one.evidence.len().saturating_sub(EVIDENCE);
    let more = (left > 0)
        .then(|| Element::new("li").text(format!("and {}", counted(left as u64, "more piece"))));
    let list = Element::new("ul").children(shown).children(more);
    let evidence = (!one.evidence.is_empty()).then(|| {
        let text = counted(one.evidence.len() as u64, "piece");
        let summary = Element::new("summary").text(format!("Evidence: {text}"));
        let folded = Element::new("details").child(summary).child(list);
        if at < OPEN { folded.flag("open") } else { folded }
    });
    Element::new("article")
        .with("class", format_args!("finding {}", one.severity))
        .child(badge(one.severity, one.severity))
        .child(Element::new("h3").text(sentence_case(&one.title)))
        .child(Element::new("p").class("note").text(about))
        .child(Element::new("p").text(format!("→ {}", one.remedy)))
        .children(explained)
        .children(evidence)
}

fn piece(page: &Page<'_>, evidence: &EvidenceReport) -> Element {
    let place = finding_list::place(page.report, evidence, PATH_WIDTH);
    let place = place.map(|place| Element::new("small").text(place));
    Element::new("li").text(short(&evidence.text)).children(place)
}

/// A quoted log line may be as long as a page.
fn short(text: &str) -> String {
    const LONGEST: usize = 400;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
