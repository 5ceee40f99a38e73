//! A connection of NET/Socket stands still.

use super::{Rule, explain};
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// What follows when data stands still.
const FOLLOWS: &[&str] = &[
    "stalled_collective",
    "inside_collective",
    "communicator_failed",
    "straggler",
    "slow_path",
    "master_unreachable",
    "nccl_warning",
];

/// Stalled sockets.
pub const RULE: Rule = Rule {
    reason: "All ranks of a ring stop within a few messages of the one whose data stands still.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let verdicts = evidence.warnings("socket_stalled").map(|(at, finding)| {
        let subject = VerdictSubject {
            communicator: finding.subject.communicator,
            rank: finding.subject.rank,
            port: finding.subject.port,
            ..VerdictSubject::default()
        };
        let mut verdict = Verdict::of_finding(Class::Other("socket_stalled"), subject, at, finding);
        // A process that runs takes what its kernel has.
        let is_closed = finding.cause == Some("window_closed") && finding.subject.rank.is_some();
        verdict.alternative = is_closed.then_some(Class::ProcessStopped);
        explain(evidence, &mut verdict, FOLLOWS, |other| {
            let other = other.subject.communicator;
            other.is_none() || other == finding.subject.communicator
        });
        verdict
    });
    verdicts.collect()
}
