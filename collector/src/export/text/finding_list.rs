//! Findings that no verdict explains, the worst first.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::counted;
use super::shown::Shown;
use super::style::{Meaning, paint};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::findings::FindingReport;

/// Writes findings about the flows shown that belong to no verdict on a problem, without remedies.
pub(super) fn write_good_to_know(
    report: &Report,
    shown: &Shown<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let is_free = |finding: &FindingReport| {
        let verdict = finding.explained_by.and_then(|at| report.verdicts.get(at));
        verdict.is_none_or(|verdict| !verdict.is_problem())
    };
    let found: Vec<&FindingReport> =
        report.findings.iter().filter(|finding| is_free(finding) && shown.has(finding)).collect();
    if !found.is_empty() {
        writeln!(out, "\n{}", paint(Meaning::Heading, "Good to know"))?;
    }
    for finding in found.iter().take(options.top) {
        writeln!(out, "{}", bullet(report, finding, options))?;
    }
    options.write_more(found.len(), out)
}

fn bullet(report: &Report, finding: &FindingReport, options: &TextOptions) -> String {
    let title = title(report, finding, options);
    sentence::bullet(Meaning::Odd, &label::printable(&title), options.width)
}

/// [`titled`] with paths as long as `options` say.
pub(super) fn title(report: &Report, finding: &FindingReport, options: &TextOptions) -> String {
    titled(report, finding, options.path_width())
}

/// Its title, with the place of its first evidence.
pub(in crate::export) fn titled(
    report: &Report,
    finding: &FindingReport,
    path_width: usize,
) -> String {
    let place = finding.evidence.iter().find_map(|evidence| place(report, evidence, path_width));
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    format!("{}{place}", finding.title)
}

/// The worst flow's figures. The title names the flow if there is only one.
pub(in crate::export) fn detail(finding: &FindingReport) -> Option<String> {
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
