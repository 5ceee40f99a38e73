//! Causes that logs name: the deepest, the first in time first. What fails because of them is beneath.

use super::Verdict;
use crate::analysis::finding::log_cause::{self, Depth};
use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// Findings that follow from a cause that a line names.
const FOLLOWS: &[&str] =
    &["bootstrap_incomplete", "collective_timeout", "call_failed", "nccl_warning"];

/// A verdict for each deepest cause that none of `found` explains.
pub fn conclude(evidence: &Evidence<'_>, found: &[Verdict]) -> Vec<Verdict> {
    let is_explained = |at: usize| {
        found.iter().any(|one| one.rests_on.contains(&at) || one.explains.contains(&at))
    };
    let causes = evidence.findings.iter().enumerate().filter_map(|(at, finding)| {
        let is_problem = finding.severity > Severity::Info && !is_explained(at);
        Some((at, finding, log_cause::named(finding.id).filter(|_| is_problem)?))
    });
    // In order of their first lines, as far as these are of one log.
    let mut causes: Vec<_> = causes.collect();
    causes
        .sort_by_key(|(_, finding, _)| finding.evidence.iter().filter_map(|one| one.witness).min());
    let Some((first, _, cause)) = causes.first() else { return Vec::new() };
    let (first, depth) = (*first, cause.depth);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (at, finding, cause) in &causes {
        let subject = VerdictSubject {
            communicator: finding.subject.communicator,
            rank: finding.subject.rank,
            ..VerdictSubject::default()
        };
        let mut verdict = Verdict::of_finding(Class::Other(cause.id), subject, *at, finding);
        if *at == first {
            let others = evidence.findings.iter().enumerate().filter(|(other, one)| {
                let is_shallower =
                    log_cause::named(one.id).is_some_and(|other| other.depth < depth);
                let follows = is_shallower || FOLLOWS.contains(&one.id) && depth > Depth::Echo;
                follows && !is_explained(*other) && *other != first
            });
            verdict.explains = others.map(|(other, _)| other).collect();
        }
        verdicts.push(verdict);
    }
    verdicts
}
