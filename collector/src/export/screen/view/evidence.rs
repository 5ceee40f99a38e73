//! Evidence of a finding or a straggler, one line per reason.

use crate::export::text::{finding_list, label};
use railscope_core::report::Report;
use railscope_core::report::evidence::EvidenceReport;

/// Longest path.
const FILE_WIDTH: usize = 40;

/// `Evidence (inferred):` and the reasons, the strongest first; empty if there are none.
pub(super) fn lines(report: &Report, grade: &str, evidence: &[EvidenceReport]) -> String {
    let reason = |one: &EvidenceReport| {
        let place = finding_list::place(report, one, FILE_WIDTH);
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        format!("\n- {}", label::printable(&format!("{}{place}", one.text)))
    };
    match evidence {
        [] => String::new(),
        some => format!("\nEvidence ({grade}):{}", some.iter().map(reason).collect::<String>()),
    }
}
