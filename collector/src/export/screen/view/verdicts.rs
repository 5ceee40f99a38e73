//! Verdicts, the costliest cause first, each with what to do, what shows it and what it explains.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, words};
use crate::export::text::label;
use railscope_core::report::Report;
use railscope_core::report::verdicts::VerdictReport;

pub(super) fn grid(report: &Report) -> Grid {
    let none = report.verdicts.is_empty().then(|| Row {
        cells: vec![Cell::default(), Cell::word("No verdict so far.")],
        tone: Tone::Plain,
        ..Row::default()
    });
    Grid {
        headings: vec![words("SEVERITY"), words("VERDICT")],
        rows: none.into_iter().chain(report.verdicts.iter().map(|one| row(report, one))).collect(),
        empty: "No verdict matches the filter.".to_owned(),
        is_list: true,
    }
}

fn row(report: &Report, one: &VerdictReport) -> Row {
    let titles = |what: &str, places: &[usize]| -> Vec<String> {
        let findings = places.iter().filter_map(|at| report.findings.get(*at));
        findings.map(|finding| format!("{what}: {}", label::printable(&finding.title))).collect()
    };
    let remedy = format!("→ {}", one.remedy);
    let grade = format!("grade: {}", one.grade);
    let shown_by = if one.is_finding { Vec::new() } else { titles("shown by", &one.findings) };
    let explains = titles("explains", &one.explains);
    let lines = [remedy, grade].into_iter().chain(shown_by).chain(explains);
    Row {
        cells: vec![Cell::word(one.severity), Cell::word(label::printable(&one.title))],
        tone: match one.severity {
            "critical" => Tone::Bad,
            "warning" => Tone::Odd,
            _ => Tone::Plain,
        },
        detail: lines.collect::<Vec<_>>().join("\n"),
        ..Row::default()
    }
}
