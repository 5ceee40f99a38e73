//! The two ends of a connection use different path MTUs.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};

/// What follows from a mismatch.
const FOLLOWS: &[&str] = &[
    "remote_access_error",
    "path_mtu",
    "timeouts",
    "loss",
    "receiver_not_ready",
    "stalled_collective",
    "nccl_warning",
];

/// A mismatch.
pub const RULE: Rule = Rule {
    reason: "A responder rejects packets of the wrong size, or takes a request for an old one; its \
             sender tries again in vain, and the job stops.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    evidence.warnings("path_mtu_mismatch").map(|(at, one)| verdict(evidence, at, one)).collect()
}

fn verdict(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Verdict {
    let ends: BTreeSet<(IpAddr, IpAddr)> =
        evidence.queue_pairs(finding).map(|pair| (pair.source, pair.destination)).collect();
    let only = ends.first().filter(|_| ends.len() == 1);
    let subject = VerdictSubject {
        communicator: finding.subject.communicator,
        rank: finding.subject.rank.filter(|_| only.is_none()),
        port: only.map_or(finding.subject.port, |(source, _)| Some(*source)),
        peer_port: only.map(|(_, destination)| *destination),
        heading: Some(Heading::Both),
        flow: finding.subject.flow,
    };
    let mut verdict = Verdict::of_finding(Class::Other(finding.id), subject, at, finding);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        let mut flows = evidence.queue_pairs(finding).peekable();
        // A finding without flows is about the job, which has stopped.
        flows.peek().is_none() || flows.any(|pair| subject.is_on_way(pair.source, pair.destination))
    });
    verdict
}
