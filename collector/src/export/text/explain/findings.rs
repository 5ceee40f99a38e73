//! The findings about the subject, each with its evidence and remedy.

use std::io::{self, Write};

use super::evidence;
use super::subject::Subject;
use crate::export::text::TextOptions;
use crate::export::text::finding_list::meaning;
use crate::export::text::label;
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::findings::FindingReport;

/// Writes the findings about `subject`, or `none`.
pub(super) fn write(
    findings: &[&FindingReport],
    subject: &Subject<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", sentence::painted(Meaning::Heading, heading(subject), options.width))?;
    if findings.is_empty() {
        return writeln!(out, "{}", sentence::note("none", options.width));
    }
    for finding in findings.iter().take(options.top) {
        let title = label::printable(&finding.title);
        writeln!(out, "{}", sentence::bullet(meaning(finding.severity), &title, options.width))?;
        let reasons = finding.evidence.get(..options.top).unwrap_or(&finding.evidence);
        if !reasons.is_empty() && reasons == shown(subject) {
            writeln!(out, "{}", sentence::note("evidence: above", options.width))?;
        } else {
            evidence::write_reasons(reasons, options, out)?;
        }
        writeln!(out, "{}", sentence::aside(&format!("→ {}", finding.remedy), options.width))?;
    }
    options.write_more(findings.len(), out)
}

/// A finding covers all of the input, which may be more than the subject.
fn heading(subject: &Subject<'_>) -> &'static str {
    match subject {
        Subject::Rank(_) | Subject::QueuePair(_) => "Findings about it",
        Subject::Collective(_) | Subject::TrainingStep(_) => {
            "Findings in the same period; their counts cover the whole input"
        }
    }
}

/// The evidence that stands above the findings.
fn shown<'a>(subject: &Subject<'a>) -> &'a [EvidenceReport] {
    match subject {
        Subject::TrainingStep(facts) => {
            facts.iteration.straggler.as_ref().map_or(&[], |late| late.evidence.as_slice())
        }
        Subject::Rank(_) | Subject::QueuePair(_) | Subject::Collective(_) => &[],
    }
}
