//! Findings, the worst first: what is wrong in a line or two, and what to do about it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::counted;
use super::style::{Meaning, paint};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Writes warnings and critical findings about the flows shown; whether there are any.
pub(super) fn write_bad(
    report: &Report,
    queue_pairs: &[&QueuePairReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<bool> {
    let found = shown(report, queue_pairs, |severity| severity != "info");
    for finding in found.iter().take(options.top) {
        writeln!(out, "{}", bullet(report, finding, options))?;
        if let Some(detail) = detail(finding) {
            writeln!(out, "{}", sentence::aside(&label::printable(&detail), options.width))?;
        }
        writeln!(out, "{}", sentence::aside(&format!("→ {}", finding.remedy), options.width))?;
    }
    options.write_more(found.len(), out)?;
    Ok(!found.is_empty())
}

/// Writes findings of severity `info` about the flows shown, without remedies.
pub(super) fn write_good_to_know(
    report: &Report,
    queue_pairs: &[&QueuePairReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let found = shown(report, queue_pairs, |severity| severity == "info");
    if !found.is_empty() {
        writeln!(out, "\n{}", paint(Meaning::Heading, "Good to know"))?;
    }
    for finding in found.iter().take(options.top) {
        writeln!(out, "{}", bullet(report, finding, options))?;
    }
    options.write_more(found.len(), out)
}

fn shown<'a>(
    report: &'a Report,
    queue_pairs: &[&QueuePairReport],
    is_wanted: fn(&str) -> bool,
) -> Vec<&'a FindingReport> {
    let flows: BTreeSet<u32> = queue_pairs.iter().flat_map(|one| &one.flows).copied().collect();
    let concerns =
        |finding: &&FindingReport| is_wanted(finding.severity) && finding.concerns_any(&flows);
    report.findings.iter().filter(concerns).collect()
}

fn bullet(report: &Report, finding: &FindingReport, options: &TextOptions) -> String {
    let place =
        finding.evidence.iter().find_map(|evidence| place(report, evidence, options.path_width()));
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    let title = format!("{}{place}", finding.title);
    sentence::bullet(meaning(finding.severity), &label::printable(&title), options.width)
}

/// The worst flow's figures. The title names the flow if there is only one.
fn detail(finding: &FindingReport) -> Option<String> {
    let worst = &finding.evidence.first()?.text;
    match finding.flows.len() {
        0 => None,
        1 => Some(worst.split_once(": ").map_or(worst.as_str(), |(_, rest)| rest).to_owned()),
        _ => Some(format!("worst: {worst}")),
    }
}

/// The colour of a severity.
pub(super) fn meaning(severity: &str) -> Meaning {
    match severity {
        "critical" | "warning" => Meaning::Bad,
        _ => Meaning::Odd,
    }
}

/// `frame 1,204 of host3.pcapng`, `line 22 of nccl.log`; no file name if there is only one file.
pub(in crate::export) fn place(
    report: &Report,
    evidence: &EvidenceReport,
    path_width: usize,
) -> Option<String> {
    let source = evidence.source.as_deref()?;
    let files = report.taps.len() + report.logs.files.len() + report.counters.len();
    let of = match files {
        1 => String::new(),
        _ => format!(" of {}", label::file(source, path_width)),
    };
    let frame = evidence.frame.map(|frame| format!("frame {frame}{of}"));
    frame.or_else(|| evidence.line.map(|line| format!("line {line}{of}")))
}

/// How many findings were not checked, and the input they need.
pub(in crate::export) fn note(report: &Report) -> Option<String> {
    let not_checked = &report.findings_not_checked;
    let needs: BTreeSet<&str> = not_checked.iter().map(|one| one.needs).collect();
    let needs: Vec<&str> = needs.into_iter().collect();
    let findings = counted(not_checked.len() as u64, "finding");
    (!needs.is_empty()).then(|| format!("{findings} not checked: no {}", needs.join(", no ")))
}
