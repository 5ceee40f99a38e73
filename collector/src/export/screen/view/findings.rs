//! Findings, the worst first, each with its remedy and evidence; then what could not be checked.

use super::evidence;
use crate::export::screen::grid::{Cell, Grid, Row, Tone, words};
use crate::export::text::{finding_list, label};
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::findings::{FindingReport, SubjectReport};

pub(super) fn grid(report: &Report) -> Grid {
    let none = report.findings.is_empty().then(|| Row {
        cells: vec![Cell::default(), Cell::word("No findings so far.")],
        tone: Tone::Plain,
        ..Row::default()
    });
    let found = report.findings.iter().map(|one| row(report, one));
    Grid {
        headings: vec![words("SEVERITY"), words("FINDING")],
        rows: none.into_iter().chain(found).chain(not_checked(report)).collect(),
        empty: "No finding matches the filter.".to_owned(),
        is_list: true,
    }
}

fn row(report: &Report, one: &FindingReport) -> Row {
    let evidence = evidence::lines(report, one.grade, &one.evidence);
    Row {
        cells: vec![Cell::word(one.severity), Cell::word(label::printable(&one.title))],
        tone: match one.severity {
            "critical" => Tone::Bad,
            "warning" => Tone::Odd,
            _ => Tone::Plain,
        },
        detail: format!("→ {}{evidence}", one.remedy),
        facts: facts(&one.subject),
    }
}

/// What a finding is about, as far as it says.
pub(super) fn facts(subject: &SubjectReport) -> Facts {
    let facts = Facts::default().number("rank", [subject.rank, None]);
    let facts = facts.number("step", [subject.iteration, None]);
    facts.address("host", [subject.port.as_deref().unwrap_or_default(), ""])
}

/// The findings that could not be checked, as one row; its detail says what each needs.
fn not_checked(report: &Report) -> Option<Row> {
    let note = finding_list::note(report)?;
    let needs =
        report.findings_not_checked.iter().map(|one| format!("{}: {}", one.id, one.missing));
    Some(Row {
        cells: vec![Cell::word("not checked"), Cell::word(note)],
        tone: Tone::Plain,
        detail: needs.collect::<Vec<_>>().join("\n"),
        ..Row::default()
    })
}
