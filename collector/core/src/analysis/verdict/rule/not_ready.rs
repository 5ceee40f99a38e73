//! A receiver that refuses data until the end: no receive is posted.

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// What follows when a receiver takes no data.
const FOLLOWS: &[&str] = &[
    "stalled_collective",
    "inside_collective",
    "straggler",
    "loss",
    "timeouts",
    "queue_pair_error",
];

/// Refusals that come this much before the end of the captures are over, in nanoseconds: NICs ask to
/// wait for 655 ms at most (IBTA volume 1, table 45).
const LONGEST_DELAY_NS: u64 = 700_000_000;

/// Refused data.
pub const RULE: Rule = Rule {
    reason: "A message that needs a receive is refused until one is posted; NCCL repeats it for ever, and \
             the ranks behind it get no data.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let end = evidence.facts.roce_span().map(|span| span.last);
    let is_open = |finding: &Finding| {
        let last = finding.span.map(|span| span.last).zip(end);
        last.is_some_and(|(last, end)| end.nanos_since(last) < LONGEST_DELAY_NS)
    };
    let stalls = evidence.named("stalled_collective").next().is_some();
    let seen = evidence.warnings("receiver_not_ready").filter(|(_, one)| stalls && is_open(one));
    seen.map(|(at, finding)| verdict(evidence, at, finding)).collect()
}

fn verdict(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Verdict {
    let subject = VerdictSubject {
        port: finding.subject.port,
        flow: finding.subject.flow,
        ..VerdictSubject::default()
    };
    let mut verdict = Verdict::of_finding(Class::Other(finding.id), subject, at, finding);
    verdict.severity = Severity::Critical;
    // Receivers that post late are refused a message now and then: it stands still since the last data.
    let is_here = |stalled: &Finding| {
        let ports = evidence.ports_of_communicator(stalled.subject.communicator);
        subject.port.is_none_or(|port| ports.contains(&port))
    };
    let stalled = evidence.named("stalled_collective").filter(|(_, stalled)| is_here(stalled));
    if let Some(span) = verdict.span.as_mut() {
        let since = stalled.filter_map(|(_, stalled)| stalled.span.map(|stalled| stalled.first));
        let since = since.filter(|since| *since <= span.last).max();
        span.first = since.unwrap_or(span.first).max(span.first);
    }
    explain(evidence, &mut verdict, FOLLOWS, |_| true);
    verdict
}
