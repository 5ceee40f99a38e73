//! Checks every kind of finding.

use std::cmp::Reverse;

use super::Finding;
use super::catalog;
use super::facts::Facts;
use super::kind::{Kind, Need};
use super::log_cause;

/// Findings of one kind that are reported; more would push others off the screen.
const REPORTED_OF_A_KIND: usize = 16;

/// The findings, and what could not be checked.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What was found, the worst first.
    pub found: Vec<Finding>,
    /// What could not be checked: name of the finding, and the missing input.
    pub not_checked: Vec<(&'static str, Need)>,
    /// Findings left out because there were too many of their kind.
    pub dropped: u64,
}

/// Looks for every kind of finding that the settings do not suppress.
#[must_use]
pub fn findings(facts: &Facts<'_>) -> Findings {
    let mut all = Findings::default();
    // What a line names is surer than what is concluded, and causes come before consequences.
    all.found.extend(log_cause::findings(facts));
    let is_wanted = |kind: &&&Kind| !facts.settings.suppresses(kind.id);
    for kind in catalog::ALL.iter().filter(is_wanted) {
        if kind.needs.iter().any(|need| need.is_met(facts)) {
            let mut found = (kind.detect)(facts);
            found.sort_by_key(|finding| Reverse(finding.severity));
            all.dropped += found.len().saturating_sub(REPORTED_OF_A_KIND) as u64;
            found.truncate(REPORTED_OF_A_KIND);
            all.found.append(&mut found);
        } else if let Some(need) = kind.needs.first() {
            all.not_checked.push((kind.id, *need));
        }
    }
    // Equal severities stay in the order of the catalog: what stops the job, then what slows it.
    all.found.sort_by_key(|finding| Reverse(finding.severity));
    all
}
