//! Findings that no cause explains are causes themselves.

use crate::analysis::finding::Finding;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// Findings that are only ever consequences: nothing rests on them alone.
const CONSEQUENCES: &[&str] = &["straggler"];

/// A verdict for each warning that none of `found` explains.
pub fn unexplained(evidence: &Evidence<'_>, found: &[Verdict]) -> Vec<Verdict> {
    let is_explained =
        |at: &usize| found.iter().any(|one| one.rests_on.contains(at) || one.explains.contains(at));
    let findings = evidence.findings.iter().enumerate().filter(|(at, finding)| {
        finding.severity > Severity::Info
            && !is_explained(at)
            && !CONSEQUENCES.contains(&finding.id)
    });
    let verdict = |(at, finding): (usize, &Finding)| {
        let subject = VerdictSubject {
            communicator: finding.subject.communicator,
            rank: finding.subject.rank,
            port: finding.subject.port,
            flow: finding.subject.flow,
            ..VerdictSubject::default()
        };
        Verdict::of_finding(Class::Other(finding.id), subject, at, finding)
    };
    findings.map(verdict).collect()
}
