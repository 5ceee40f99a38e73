//! A station that pauses others.

use std::cmp::Reverse;

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::pause::{PauseClaim, PauseSide};
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// What follows from pause.
const FOLLOWS: &[&str] = &[
    "pause",
    "pfc_storm",
    "straggler",
    "slow_path",
    "congestion",
    "timeouts",
    "stalled_collective",
    "queue_pair_error",
];

/// Pause.
pub const RULE: Rule = Rule {
    reason: "A paused port sends nothing, and its switch pauses others in turn: queues fill, \
             transfers slow down, and the ranks upstream come late.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    // Who pauses others is the cause; who is paused is a victim, and the cause is behind its switch.
    // A switch passes on what the port of a host began.
    let seen = evidence.warnings("pfc_storm").chain(evidence.warnings("pause"));
    let first = seen.min_by_key(|(_, finding)| {
        (is_victim(finding), Reverse(finding.severity), finding.subject.port.is_none())
    });
    first.map(|(at, finding)| verdict(evidence, at, finding)).into_iter().collect()
}

/// Whether it says that a NIC was paused, and not that it pauses others.
fn is_victim(finding: &Finding) -> bool {
    let Claim::Pause(claim) = &finding.claim else { return false };
    matches!(
        claim,
        PauseClaim::Nic { side: PauseSide::Received, .. }
            | PauseClaim::NicStorm { side: PauseSide::Received, .. }
    )
}

fn verdict(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Verdict {
    let port = finding.subject.port;
    let subject = VerdictSubject { port, ..VerdictSubject::default() };
    let verdict = Verdict::of_finding(Class::Pause, subject, at, finding);
    // Data waits in queues before the port, so the rank there offers room late. It may look as if the rank
    // that sends to it took data slowly. All of that is the same time.
    let at_port = |id, rank| {
        let ports = evidence.rank_ports.ports_of(id, rank);
        port.is_some_and(|to| ports.contains(&to))
    };
    let of_port = |id, rank| {
        let ports = evidence.rank_ports.ports_of(id, rank);
        port.is_some_and(|to| {
            ports.iter().any(|from| *from == to || evidence.sends_data(*from, to))
        })
    };
    let paused_ns = evidence.costs.of(&[Cause::Pause], |_, _| true);
    let slow_ns = evidence.costs.of(&[Cause::Receiver], of_port);
    let cost_ns = paused_ns.max(slow_ns).max(evidence.costs.of_room(at_port));
    let mut verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        let is_own = [Cause::Enqueue, Cause::Compute, Cause::Sender]
            .iter()
            .any(|cause| finding.cause == Some(cause.name()));
        finding.id != "straggler" || !is_own
    });
    verdict
}
