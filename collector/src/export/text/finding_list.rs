//! Findings, the worst first: what is wrong in a line or two, and what one does about it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::connection::Connection;
use super::style::Meaning;
use super::{TextOptions, label, sentence};
use crate::report::Report;
use crate::report::evidence::EvidenceReport;
use crate::report::findings::FindingReport;

/// A path longer than this would push the words off the line.
const FILE_WIDTH: usize = 40;

/// Writes the findings about the flows shown; whether any of them is bad.
pub(super) fn write(
    report: &Report,
    connections: &[Connection<'_>],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<bool> {
    let shown: BTreeSet<u32> = connections.iter().flat_map(Connection::ids).collect();
    let concerns = |finding: &&FindingReport| {
        finding.flows.is_empty() || finding.flows.iter().any(|flow| shown.contains(flow))
    };
    let found: Vec<&FindingReport> = report.findings.iter().filter(concerns).collect();
    for finding in found.iter().take(options.top) {
        write_one(report, finding, out)?;
    }
    options.write_more(found.len(), out)?;
    Ok(found.iter().any(|finding| finding.severity != "info"))
}

fn write_one(report: &Report, finding: &FindingReport, out: &mut impl Write) -> io::Result<()> {
    let place = finding.evidence.iter().find_map(|evidence| place(report, evidence));
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    let title = format!("{}{place}", finding.title);
    writeln!(out, "{}", sentence::bullet(meaning(finding.severity), &label::printable(&title)))?;
    // What is good to know needs no remedy.
    if finding.severity == "info" {
        return Ok(());
    }
    let worst = finding.evidence.first().filter(|_| finding.flows.len() > 1);
    if let Some(worst) = worst {
        writeln!(out, "{}", sentence::aside(&label::printable(&format!("worst {}", worst.text))))?;
    }
    writeln!(out, "{}", sentence::aside(&format!("→ {}", finding.remedy)))
}

fn meaning(severity: &str) -> Meaning {
    match severity {
        "critical" | "warning" => Meaning::Bad,
        _ => Meaning::Odd,
    }
}

/// `frame 1,204 of host3.pcapng`, `line 22 of nccl.log`; of the only file, without its name.
fn place(report: &Report, evidence: &EvidenceReport) -> Option<String> {
    let source = evidence.source.as_deref()?;
    let files = report.taps.len() + report.logs.files.len() + report.counters.len();
    let of = match files {
        1 => String::new(),
        _ => format!(" of {}", label::file(source, FILE_WIDTH)),
    };
    let frame = evidence.frame.map(|frame| format!("frame {}{of}", super::count(frame)));
    frame.or_else(|| evidence.line.map(|line| format!("line {}{of}", super::count(line))))
}

/// Says which findings could not be looked for, by what they need.
pub(super) fn note(report: &Report) -> Option<String> {
    let not_checked = &report.findings_not_checked;
    let needs: BTreeSet<&str> = not_checked.iter().map(|one| one.needs).collect();
    let needs: Vec<&str> = needs.into_iter().collect();
    (!needs.is_empty()).then(|| {
        let kinds = match not_checked.len() {
            1 => "1 kind of finding".to_owned(),
            several => format!("{several} kinds of findings"),
        };
        format!("{kinds} not looked for, for want of {}", needs.join(", "))
    })
}
