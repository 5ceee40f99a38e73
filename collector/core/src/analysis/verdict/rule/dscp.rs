//! Ports of one job use several traffic classes: said, but no fault.

use super::Rule;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// Several traffic classes.
pub const RULE: Rule = Rule {
    reason: "Packets do not show which class is right: only an expectation makes one wrong. What a \
             class suffers by itself, loss or congestion, has verdicts of its own.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let said = evidence.named("dscp_differs").filter(|(_, one)| one.severity == Severity::Info);
    let verdict = |(at, finding): (usize, &crate::analysis::finding::Finding)| {
        let subject = VerdictSubject {
            communicator: finding.subject.communicator,
            rank: finding.subject.rank,
            port: finding.subject.port,
            ..VerdictSubject::default()
        };
        Verdict::of_finding(Class::Other(finding.id), subject, at, finding)
    };
    said.map(verdict).collect()
}
