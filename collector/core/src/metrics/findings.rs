//! Findings that hold, and those that could not be looked for.

use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::SeriesTable;
use crate::report::Report;

/// Sets what the report found and could not look for.
pub(super) fn set(series: &mut SeriesTable, report: &Report) {
    for finding in &report.findings {
        let attributes = Attributes::new([
            (attribute::FINDING.name, finding.id.to_owned()),
            (attribute::SEVERITY.name, finding.severity.to_owned()),
        ]);
        series.add(&catalog::FINDING_ACTIVE, attributes, 1);
    }
    for missing in &report.findings_not_checked {
        let attributes = Attributes::new([
            (attribute::FINDING.name, missing.id.to_owned()),
            (attribute::REASON.name, missing.missing.to_owned()),
        ]);
        series.set(&catalog::FINDING_NOT_CHECKED, attributes, 1);
    }
}
