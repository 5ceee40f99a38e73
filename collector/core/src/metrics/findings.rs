//! Active findings, and those that were not checked.

use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::SeriesTable;
use crate::analysis::finding::search::Findings;
use crate::report::words::need;

/// Sets one series for each finding and for each one that was not checked.
pub(super) fn set(series: &mut SeriesTable, findings: &Findings) {
    for finding in &findings.found {
        let attributes = Attributes::new([
            (attribute::FINDING.name, finding.id.to_owned()),
            (attribute::SEVERITY.name, finding.severity.name().to_owned()),
        ]);
        series.add(&catalog::FINDING_ACTIVE, attributes, 1);
    }
    for (id, need) in &findings.not_checked {
        let attributes = Attributes::new([
            (attribute::FINDING.name, (*id).to_owned()),
            (attribute::REASON.name, need::missing(*need).to_owned()),
        ]);
        series.set(&catalog::FINDING_NOT_CHECKED, attributes, 1);
    }
}
