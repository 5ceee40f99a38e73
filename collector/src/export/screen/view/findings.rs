//! What is wrong, the worst first, and what one does about it.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, words};
use crate::export::text::label;
use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;

pub(super) fn grid(report: &Report) -> Grid {
    Grid {
        headings: vec![words("SEVERITY"), words("WHAT")],
        rows: report.findings.iter().map(row).collect(),
        empty: "nothing found".to_owned(),
    }
}

fn row(one: &FindingReport) -> Row {
    let title = label::printable(&one.title);
    let reason = one.evidence.first().map(|evidence| label::printable(&evidence.text));
    Row {
        cells: vec![Cell::word(one.severity), Cell::word(title)],
        tone: match one.severity {
            "critical" => Tone::Bad,
            "warning" => Tone::Odd,
            _ => Tone::Plain,
        },
        detail: format!("{}\n→ {}", reason.unwrap_or_default(), one.remedy),
    }
}
