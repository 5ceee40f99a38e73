//! What hangs: class, place, evidence of every source, what contradicts, what would decide.

use std::io::{self, Write};

use super::evidence;
use crate::export::text::TextOptions;
use crate::export::text::call_record_lines;
use crate::export::text::label;
use crate::export::text::quantity::moment;
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use railscope_core::report::hangs::{HangReport, HangsReport, SourceReport};
use railscope_core::report::verdicts::VerdictSubjectReport;

/// Writes every hang, or that there is none.
///
/// # Errors
///
/// When writing fails.
pub fn write(
    report: &HangsReport<'_>,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let out = &mut out;
    if let Some(summary) = &report.summary {
        let meaning = if report.state == "none" { Meaning::Good } else { Meaning::Odd };
        let text = format!("{}.", label::printable(summary));
        writeln!(out, "{}", sentence::bullet(meaning, &text, options.width))?;
    }
    for stopped in report.stopped_captures.iter().take(options.top) {
        let text = format!("{}.", label::printable(stopped.title));
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    call_record_lines::write_unused(report.unused_records, options, out)?;
    if report.hangs.is_empty() {
        return Ok(());
    }
    for hang in report.hangs.iter().take(options.top) {
        write_one(hang, &report.sources, options, out)?;
    }
    options.write_more(report.hangs.len(), out)?;
    let has_packets = report.sources.iter().any(|one| one.source == "packets" && one.read > 0);
    if has_packets { evidence::write_hint(options, out) } else { Ok(()) }
}

fn write_one(
    hang: &HangReport<'_>,
    sources: &[SourceReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = label::printable(hang.title);
    writeln!(out, "{}", sentence::bullet(Meaning::Bad, &title, options.width))?;
    let mut line = |name: &str, text: &str| {
        let text = format!("{name}: {}", label::printable(text));
        writeln!(out, "{}", sentence::note(&text, options.width))
    };
    line("class", &class(hang))?;
    if let Some(place) = place(hang.subject) {
        line("where", &place)?;
    }
    if let Some((since, until)) = hang.since_ns.zip(hang.until_ns) {
        line("since", &format!("{}, seen until {}", moment(since), moment(until)))?;
    }
    if !hang.communicators.is_empty() {
        line("stands still", &format!("communicator {}", hang.communicators.join(", ")))?;
    }
    for one in sources {
        write_source(hang, one, options, out)?;
    }
    // Calls are only seen live.
    if hang.evidence.iter().any(|shown| shown.source == "calls") {
        write_source(hang, &SourceReport { source: "calls", read: 1 }, options, out)?;
    }
    let mut line = |name: &str, text: &str| {
        let text = format!("{name}: {}", label::printable(text));
        writeln!(out, "{}", sentence::note(&text, options.width))
    };
    for contradiction in &hang.contradictions {
        line("against it", contradiction)?;
    }
    if let Some(would_decide) = hang.would_decide {
        line("would decide", would_decide)?;
    }
    line("first", hang.remedy)
}

/// What one source shows of it.
fn write_source(
    hang: &HangReport<'_>,
    one: &SourceReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let name = match one.source {
        "flight_recorder" => "flight recorder",
        "ras" => "RAS",
        other => other,
    };
    let shown = || hang.evidence.iter().filter(|shown| shown.source == one.source);
    if shown().next().is_none() {
        let text = if one.read == 0 { "not read" } else { "nothing about it" };
        return writeln!(out, "{}", sentence::note(&format!("{name}: {text}"), options.width));
    }
    for shown in shown().take(options.top) {
        let text = format!("{name}: {}", label::printable(shown.finding));
        writeln!(out, "{}", sentence::note(&text, options.width))?;
        for reason in shown.evidence.iter().take(options.top) {
            evidence::write_below(reason, options, out)?;
        }
    }
    options.write_more(shown().count(), out)
}

/// `rank_not_called, proven; it could also be process_stopped; docs/hangs/rank_not_called.md`.
fn class(hang: &HangReport<'_>) -> String {
    let mut text = match hang.page {
        Some(_) => format!("{}, {}", hang.class, hang.grade),
        None => format!("{}, {}; that does not say why", hang.class, hang.grade),
    };
    if let Some(other) = hang.alternative {
        text += &format!("; it could also be {other}");
    }
    if let Some(page) = hang.page {
        text += &format!("; see docs/hangs/{page}.md");
    }
    text
}

/// `rank 2 on gpu-node-02, port 10.0.0.3, packets towards it`.
fn place(subject: &VerdictSubjectReport) -> Option<String> {
    let port = match (&subject.port, &subject.peer_port) {
        (Some(port), Some(peer)) => Some(format!("path {peer} and {port}")),
        (Some(port), None) => Some(format!("port {port}")),
        (None, _) => None,
    };
    let rank = match (subject.rank, &subject.host) {
        (Some(rank), Some(host)) => Some(format!("rank {rank} on {host}")),
        (Some(rank), None) => Some(format!("rank {rank}")),
        (None, host) => host.clone(),
    };
    let direction = match (subject.direction, &subject.port) {
        (Some("towards"), Some(port)) => Some(format!("packets towards {port}")),
        (Some("from"), Some(port)) => Some(format!("packets from {port}")),
        (Some(_), Some(_)) => Some("both directions".to_owned()),
        _ => None,
    };
    let parts: Vec<String> = [rank, port, direction].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
