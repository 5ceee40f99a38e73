//! Verdicts, the costliest cause first: what broke, what to do, and the findings that belong to it.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{counted, duration};
use super::style::Meaning;
use super::{finding_list, label, sentence};
use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::verdicts::VerdictReport;

/// Findings listed below one verdict.
const FINDINGS: usize = 3;

/// Records listed below one verdict.
const RECORDS: usize = 4;

/// Writes the verdicts that say that something is wrong; whether there are any.
pub(super) fn write_bad(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<bool> {
    let bad: Vec<&VerdictReport> = report.verdicts.iter().filter(|one| one.is_problem()).collect();
    for verdict in bad.iter().take(options.top) {
        write_one(report, verdict, options, out)?;
    }
    options.write_more(bad.len(), out)?;
    if !bad.is_empty() {
        write_network(report, options, out)?;
    }
    Ok(!bad.is_empty())
}

/// Writes that the network is not the cause, or what must be captured before that can be said;
/// whether there is such a verdict.
pub(super) fn write_network(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<bool> {
    let Some(verdict) = report.verdicts.iter().find(|one| one.is_on_network()) else {
        return Ok(false);
    };
    let meaning = if verdict.is_unjudged() { Meaning::Odd } else { Meaning::Good };
    let text = format!("{}.", label::printable(&verdict.title));
    writeln!(out, "{}", sentence::bullet(meaning, &text, options.width))?;
    Ok(true)
}

/// Writes what varies by chance, where no rank stands out.
pub(super) fn write_chance(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for verdict in report.verdicts.iter().filter(|one| one.is_on_chance()).take(options.top) {
        let text = format!("{}.", label::printable(&verdict.title));
        let meaning = finding_list::meaning(verdict.severity);
        writeln!(out, "{}", sentence::bullet(meaning, &text, options.width))?;
        writeln!(out, "{}", sentence::aside(&format!("→ {}", verdict.remedy), options.width))?;
    }
    Ok(())
}

fn write_one(
    report: &Report,
    verdict: &VerdictReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let meaning = finding_list::meaning(verdict.severity);
    let shown_by = findings(report, &verdict.findings);
    let itself = shown_by.first().filter(|_| verdict.is_finding);
    let title = match itself {
        Some(finding) => finding_list::title(report, finding, options),
        None => verdict.title.clone(),
    };
    writeln!(out, "{}", sentence::bullet(meaning, &label::printable(&title), options.width))?;
    if let Some(detail) = itself.and_then(|finding| finding_list::detail(finding)) {
        writeln!(out, "{}", sentence::aside(&label::printable(&detail), options.width))?;
    }
    writeln!(out, "{}", sentence::aside(&certainty(verdict), options.width))?;
    writeln!(out, "{}", sentence::aside(&format!("→ {}", verdict.remedy), options.width))?;
    if let Some(finding) = itself {
        write_records(finding, options, out)?;
    }
    // The title is the first finding's.
    let shown_by = shown_by.get(usize::from(verdict.is_finding)..).unwrap_or_default();
    write_findings("shown by", report, shown_by, options, out)?;
    write_findings("explains", report, &findings(report, &verdict.explains), options, out)
}

/// Writes what processes recorded, rank by rank: the title has only their number.
fn write_records(
    finding: &FindingReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for one in finding.evidence.iter().filter(|one| one.kind == "record").take(RECORDS) {
        let text = format!("shown by: {}", label::printable(&one.text));
        writeln!(out, "{}", sentence::place(&text, options.width))?;
    }
    Ok(())
}

fn findings<'a>(report: &'a Report, places: &[usize]) -> Vec<&'a FindingReport> {
    places.iter().filter_map(|at| report.findings.get(*at)).collect()
}

fn write_findings(
    what: &str,
    report: &Report,
    findings: &[&FindingReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for finding in findings.iter().take(FINDINGS) {
        let text = format!("{what}: {}", finding_list::title(report, finding, options));
        writeln!(out, "{}", sentence::place(&label::printable(&text), options.width))?;
    }
    match findings.len().saturating_sub(FINDINGS) {
        0 => Ok(()),
        more => {
            let text = format!("{what} {}", counted(more as u64, "more finding"));
            writeln!(out, "{}", sentence::place(&text, options.width))
        }
    }
}

/// `inferred, from 1.20 s to 3.41 s; it could also be port_down`.
fn certainty(verdict: &VerdictReport) -> String {
    let at = |ns: i64| duration(u64::try_from(ns).unwrap_or(0));
    let mut text = verdict.grade.to_owned();
    if let Some((since_ns, until_ns)) = verdict.since_ns.zip(verdict.until_ns) {
        text += &format!(", from {} to {}", at(since_ns), at(until_ns));
    }
    if let Some(other) = verdict.alternatives.first() {
        text += &format!("; it could also be {other}");
    }
    text
}
