//! A path or port that carries data slower than all others, without loss, marks or pause.

use std::net::IpAddr;

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};

/// What follows from a slow path.
const FOLLOWS: &[&str] = &["straggler", "reordering"];

/// A slow path.
pub const RULE: Rule = Rule {
    reason: "Data of every collective passes each path of the ring, so the slowest one sets the \
             pace; queues before it may reorder packets.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    evidence.warnings("slow_path").filter_map(|(at, one)| verdict(evidence, at, one)).collect()
}

fn verdict(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Option<Verdict> {
    let Claim::Pace(PaceClaim::SlowPath { sender, receiver, rate_bps, others_bps, .. }) =
        finding.claim
    else {
        return None;
    };
    // A ring has one path to each port: whether the port or the path is slow remains open.
    let subject = VerdictSubject {
        port: Some(receiver),
        heading: Some(Heading::Towards),
        ..VerdictSubject::default()
    };
    let verdict = Verdict::of_finding(Class::Other(finding.id), subject, at, finding);
    let lost_share = 1.0 - rate_bps as f64 / others_bps.max(1) as f64;
    let cost_ns = (transfer_ns(evidence, sender, receiver) as f64 * lost_share) as u64;
    let mut verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    let of_path = |finding: &Finding| {
        let of_network =
            [Cause::Congestion, Cause::Loss, Cause::Receiver].map(Cause::name).map(Some);
        match finding.id {
            "straggler" => of_network.contains(&finding.cause),
            _ => finding.subject.port == Some(receiver),
        }
    };
    explain(evidence, &mut verdict, FOLLOWS, of_path);
    Some(verdict)
}

/// How long data took on this path, in all collectives together; its channels work at the same time.
fn transfer_ns(evidence: &Evidence<'_>, sender: IpAddr, receiver: IpAddr) -> u64 {
    let Some(job) = evidence.facts.job() else { return 0 };
    let passes = |connection| {
        job.connection(connection).is_some_and(|known| {
            known.queue_pairs.iter().any(|pair| (pair.sender, pair.receiver) == (sender, receiver))
        })
    };
    let slowest = evidence.facts.collectives.iter().filter_map(|judged| {
        let edges = judged.waits.edges.iter().filter(|edge| passes(edge.connection));
        edges.map(|edge| edge.transfer_ns).max()
    });
    slowest.sum()
}
