//! The first section: what broke, where, since when, what it cost, how sure that is, what to do.

use super::markup::Element;
use super::page::{PATH_WIDTH, Page, moment, sentence_case};
use crate::export::text::quantity::{counted, duration, percent};
use crate::export::text::{calm, finding_list};
use railscope_core::report::findings::FindingReport;
use railscope_core::report::verdicts::{VerdictReport, VerdictSubjectReport};

/// Problems shown.
const PROBLEMS: usize = 12;

/// Findings listed below a verdict.
const FINDINGS: usize = 8;

/// The verdicts, the costliest first.
pub(super) fn section(page: &Page<'_>) -> Element {
    let verdicts = &page.report.verdicts;
    let section = Element::new("section").with("id", "verdict");
    let problems: Vec<&VerdictReport> = verdicts.iter().filter(|one| one.is_problem()).collect();
    let asides = verdicts.iter().filter(|one| one.is_on_network() || one.is_on_chance());
    let asides: Vec<&VerdictReport> = asides.collect();
    let section = match (
        problems.as_slice(),
        calm::why_unjudged(page.report, page.report.queue_pair_tallies),
    ) {
        ([first, others @ ..], _) => {
            let rest = others.iter().take(PROBLEMS - 1).map(|one| card(page, one, "h2"));
            let left = others.len().saturating_sub(PROBLEMS - 1);
            let more = (left > 0).then(|| {
                Element::new("p").class("note").text(counted(left as u64, "more verdict"))
            });
            section.child(card(page, first, "h1")).children(rest).children(more)
        }
        ([], Some((text, aside))) => section.child(plain("info", "h1", text, aside)),
        ([], None) => return section.children(calm_cards(page, &asides)),
    };
    section.children(asides.iter().map(|one| plain(mood(one), "h2", &one.title, &one.remedy)))
}

/// What is known where nothing is wrong.
fn calm_cards(page: &Page<'_>, asides: &[&VerdictReport]) -> Vec<Element> {
    let unchecked = page.report.findings_not_checked.len() as u64;
    let note = (unchecked > 0).then(|| {
        let link = Element::new("a").with("href", "#unseen").text("Not seen, or not certain");
        let text = format!("{} not checked: see ", counted(unchecked, "finding"));
        Element::new("p").class("note").text(text).child(link)
    });
    let heads = ["h1"].into_iter().chain(std::iter::repeat("h2"));
    let cards = asides.iter().zip(heads).map(|(one, head)| {
        // A remedy of a healthy network is advice on where else to look.
        plain(mood(one), head, &one.title, &one.remedy)
    });
    let read = calm::read_without_packets(page.report).map(|(is_odd, text)| {
        plain(if is_odd { "info" } else { "good" }, "h1", &text, &calm::unseen(page.report))
    });
    let mut cards: Vec<Element> = match read {
        Some(read) => vec![read],
        None => cards.collect(),
    };
    if cards.is_empty() {
        cards.push(plain("good", "h1", "no problem found", ""));
    }
    cards.into_iter().chain(note).collect()
}

fn mood(verdict: &VerdictReport) -> &'static str {
    if verdict.is_unjudged() || verdict.is_on_chance() { "info" } else { "good" }
}

/// A verdict that says only what is known.
fn plain(mood: &'static str, head: &'static str, title: &str, remedy: &str) -> Element {
    let card = Element::new("article").with("class", format_args!("card {mood}"));
    let word = if mood == "good" { "healthy" } else { "for information" };
    let card = card.child(badge(mood, word)).child(Element::new(head).text(sentence_case(title)));
    let said = (!remedy.is_empty()).then(|| Element::new("p").text(remedy));
    card.children(said)
}

/// A problem.
fn card(page: &Page<'_>, verdict: &VerdictReport, head: &'static str) -> Element {
    let shown_by = page.findings(&verdict.findings);
    let itself = shown_by.first().filter(|_| verdict.is_finding);
    let detail = itself.and_then(|finding| finding_list::detail(finding));
    let card = Element::new("article").with("class", format_args!("card {}", verdict.severity));
    let card = card
        .child(badge(verdict.severity, verdict.severity))
        .child(Element::new(head).text(sentence_case(&verdict.headline)))
        .children(detail.map(|detail| Element::new("p").class("note").text(detail)))
        .child(facts(page, verdict))
        .child(Element::new("h3").text("What to do"))
        .child(Element::new("p").class("remedy").text(&verdict.remedy));
    let explained = page.findings(&verdict.explains);
    card.children(folded(page, "Shown by", &shown_by)).children(folded(
        page,
        "Also explains",
        &explained,
    ))
}

/// A word in the colour of a severity, with a sign of its own.
pub(super) fn badge(severity: &'static str, word: &'static str) -> Element {
    let sign = match severity {
        "critical" => "✕",
        "warning" => "▲",
        "good" => "✓",
        _ => "●",
    };
    let sign = Element::new("span").with("aria-hidden", "true").text(sign);
    let badge = Element::new("p").with("class", format_args!("badge {severity}"));
    badge.child(sign).text(format!(" {word}"))
}

fn facts(page: &Page<'_>, verdict: &VerdictReport) -> Element {
    let when = verdict.since_ns.zip(verdict.until_ns).map(|(since_ns, until_ns)| {
        let clock = page.clock(since_ns).map(|clock| format!(" ({clock})")).unwrap_or_default();
        (moment(since_ns), format!("into the capture{clock}, until {}", moment(until_ns)))
    });
    let cost = verdict.cost_ns.filter(|cost_ns| *cost_ns > 0).map(|cost_ns| {
        let share = verdict.cost_share.map(|share| format!("{} of the time", percent(share)));
        (duration(cost_ns), share.unwrap_or_default())
    });
    let cost = cost.unwrap_or_else(|| match verdict.cost_ns {
        Some(_) => ("none measured".to_owned(), String::new()),
        None => ("unknown".to_owned(), String::new()),
    });
    let other = verdict.alternatives.first().map(|other| format!("could also be {other}"));
    let (place, peer) = place(&verdict.subject);
    let since = when.unwrap_or_else(|| ("unknown".to_owned(), String::new()));
    let page_of = verdict.page.map(|page| format!("docs/hangs/{page}.md"));
    let class =
        verdict.stops_job.then(|| ("Class", verdict.id.to_owned(), page_of.unwrap_or_default()));
    let decide = verdict.would_decide.map(|text| ("Would decide", text.to_owned(), String::new()));
    let facts = [
        ("Where", place, peer),
        ("Since", since.0, since.1),
        ("Cost", cost.0, cost.1),
        ("Certainty", verdict.grade.to_owned(), other.unwrap_or_default()),
    ];
    let entry = |(name, value, aside): (&str, String, String)| {
        let aside = (!aside.is_empty()).then(|| Element::new("small").text(aside));
        let value = Element::new("dd").text(value).children(aside);
        Element::new("div").child(Element::new("dt").text(name)).child(value)
    };
    let facts = class.into_iter().chain(facts).chain(decide);
    Element::new("dl").class("facts").children(facts.map(entry))
}

/// `rank 2` and the host or path.
fn place(subject: &VerdictSubjectReport) -> (String, String) {
    let VerdictSubjectReport { host, port, rank, peer_port, direction, .. } = subject;
    let rank = rank.map(|rank| format!("rank {rank}"));
    let path = port.as_ref().map(|port| match (peer_port, direction) {
        (Some(peer), Some("towards")) => format!("{peer} → {port}"),
        (Some(peer), Some("from")) => format!("{port} → {peer}"),
        (Some(peer), _) => format!("{peer} ↔ {port}"),
        (None, Some("towards")) => format!("→ {port}"),
        (None, Some("from")) => format!("{port} →"),
        (None, _) => port.clone(),
    });
    let host = host.clone().filter(|host| port.as_ref() != Some(host));
    let mut known = [path, rank, host].into_iter().flatten();
    let first = known.next().unwrap_or_else(|| "several places".to_owned());
    (first, known.collect::<Vec<_>>().join(", "))
}

fn folded(page: &Page<'_>, what: &str, findings: &[&FindingReport]) -> Option<Element> {
    if findings.is_empty() {
        return None;
    }
    let count = counted(findings.len() as u64, "finding");
    let entry = |finding: &&FindingReport| {
        Element::new("li").text(sentence_case(&finding_list::titled(
            page.report,
            finding,
            PATH_WIDTH,
        )))
    };
    let left = findings.len().saturating_sub(FINDINGS);
    let more = (left > 0).then(|| {
        let link = Element::new("a").with("href", "#findings").text("all findings");
        Element::new("li").text(format!("and {left} more: ")).child(link)
    });
    let list = Element::new("ul").children(findings.iter().take(FINDINGS).map(entry));
    let summary = Element::new("summary").text(format!("{what} {count}"));
    Some(Element::new("details").child(summary).child(list.children(more)))
}
