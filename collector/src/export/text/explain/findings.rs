//! The findings about the subject, each with its evidence and remedy.

use std::io::{self, Write};

use super::evidence;
use crate::export::text::TextOptions;
use crate::export::text::finding_list::meaning;
use crate::export::text::label;
use crate::export::text::sentence;
use crate::export::text::style::{Meaning, paint};
use railscope_core::report::findings::FindingReport;

/// Writes `findings`, or `none`.
pub(super) fn write(
    findings: &[&FindingReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", paint(Meaning::Heading, "Findings about it"))?;
    if findings.is_empty() {
        return writeln!(out, "{}", sentence::note("none", options.width));
    }
    for finding in findings.iter().take(options.top) {
        let title = label::printable(&finding.title);
        writeln!(out, "{}", sentence::bullet(meaning(finding.severity), &title, options.width))?;
        evidence::write_reasons(
            finding.evidence.get(..options.top).unwrap_or(&finding.evidence),
            options,
            out,
        )?;
        writeln!(out, "{}", sentence::aside(&format!("→ {}", finding.remedy), options.width))?;
    }
    options.write_more(findings.len(), out)
}
