//! Packets lost at a port or on a path.

use std::net::IpAddr;

use super::dead::explains_loss;
use super::sprayed::may_be_order;
use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::path::place::Located;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Verdict, VerdictClaim, grade_of};

/// What follows from lost packets.
const FOLLOWS: &[&str] = &["loss", "timeouts", "straggler", "reordering"];

/// Packets are lost.
pub const RULE: Rule = Rule {
    reason: "A lost packet makes the sender send a window again, or wait for its timer; the ranks \
             behind it come late because of that, and are victims.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let is_dead =
        |located: &&Located| explains_loss(evidence, |direction| located.place.includes(direction));
    let mut found: Vec<Verdict> = evidence
        .lost
        .iter()
        .filter(|located| !is_dead(located))
        .filter_map(|located| located_loss(evidence, located))
        .collect();
    if evidence.lost.is_empty() {
        let seen = evidence.warnings("loss").filter(|(_, finding)| {
            let is_of = |direction| {
                let mut pairs = evidence.queue_pairs(finding);
                pairs.any(|pair| (pair.source, pair.destination) == direction)
            };
            !finding.flows.is_empty()
                && !all_arrived(evidence, finding)
                && !may_be_late(evidence, finding)
                && !explains_loss(evidence, is_of)
        });
        found.extend(seen.map(|(at, finding)| seen_loss(evidence, at, finding)));
    }
    found
}

/// Whether nothing tells loss from packets out of order, and packets did come out of order.
fn may_be_late(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    let is_disordered = evidence.warnings("reordering").next().is_some() || evidence.are_sprayed;
    may_be_order(finding) && is_disordered
}

/// Whether taps at both ends of all flows of `finding` saw the same packets: what looked lost to the
/// receiver came late.
fn all_arrived(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    let directions = evidence
        .queue_pairs(finding)
        .filter_map(|pair| evidence.tallies.get(&(pair.source, pair.destination)));
    directions
        .fold(None, |all, tally| Some(all.unwrap_or(true) && tally.is_whole && tally.lost == 0))
        == Some(true)
}

/// Whether packets of a finding, or the answers to them, pass the place.
fn is_at(evidence: &Evidence<'_>, finding: &Finding, located: &Located) -> bool {
    let passes = |one: IpAddr, other: IpAddr| located.place.includes((one, other));
    evidence
        .queue_pairs(finding)
        .any(|pair| passes(pair.source, pair.destination) || passes(pair.destination, pair.source))
}

/// Loss that taps at both ends counted.
fn located_loss(evidence: &Evidence<'_>, located: &Located) -> Option<Verdict> {
    let of_place = |finding: &Finding| is_at(evidence, finding, located);
    let subject = VerdictSubject::at(located.place);
    let claim = VerdictClaim::Lost { lost: located.lost, sent: located.sent };
    let mut verdict = Verdict::new(Class::Loss, Severity::Warning, subject, claim);
    verdict.grade = grade_of(located);
    for id in ["loss", "timeouts"] {
        let rests = evidence.named(id).filter(|(_, finding)| of_place(finding));
        verdict.rests_on.extend(rests.map(|(at, _)| at));
    }
    // Lost ACKs that later ones make up for are harmless.
    if verdict.rests_on.is_empty() {
        return None;
    }
    let ranks: Vec<_> = located
        .directions
        .iter()
        .flat_map(|(source, destination)| [*source, *destination])
        .flat_map(|port| evidence.rank_ports.ranks_at(port))
        .collect();
    let cost_ns = evidence.costs.of(&[Cause::Loss], |id, rank| ranks.contains(&(id, rank)));
    verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    verdict.span = spans(evidence, &verdict.rests_on);
    explain(evidence, &mut verdict, FOLLOWS, |finding| is_of_network(finding) || of_place(finding));
    Some(verdict)
}

/// Loss that only a gap or a NAK shows.
fn seen_loss(evidence: &Evidence<'_>, at: usize, finding: &Finding) -> Verdict {
    let flows: Vec<_> = evidence.queue_pairs(finding).collect();
    let port = finding.subject.port;
    let heading = port.and_then(|port| {
        if flows.iter().all(|flow| flow.destination == port) {
            Some(Heading::Towards)
        } else if flows.iter().all(|flow| flow.source == port) {
            Some(Heading::From)
        } else {
            None
        }
    });
    let sum = |of: &dyn Fn(&crate::analysis::queue_pair::QueuePair) -> u64| {
        flows.iter().map(|flow| of(flow)).sum()
    };
    let (lost, sent) = (sum(&|flow| flow.missing), sum(&|flow| flow.frames));
    let claim = match lost {
        0 => VerdictClaim::SentAgain { resent: sum(&|flow| flow.resent), sent },
        lost => VerdictClaim::Lost { lost, sent },
    };
    let subject = VerdictSubject { port, heading, ..VerdictSubject::default() };
    let mut verdict = Verdict::new(Class::Loss, Severity::Warning, subject, claim);
    verdict.rests_on = vec![at];
    let cost_ns = evidence.costs.of(&[Cause::Loss], |_, _| true);
    verdict = verdict.costing(cost_ns, evidence.costs.seen_ns);
    verdict.span = finding.span;
    explain(evidence, &mut verdict, FOLLOWS, is_of_network);
    verdict
}

/// A straggler by loss, timeouts, loss: not a rank's own lateness.
fn is_of_network(finding: &Finding) -> bool {
    finding.id != "straggler" || finding.cause == Some(Cause::Loss.name())
}

/// From the first of these findings to the last.
pub(super) fn spans(
    evidence: &Evidence<'_>,
    findings: &[usize],
) -> Option<crate::model::time::Span> {
    let spans = || findings.iter().filter_map(|at| evidence.findings.get(*at)?.span);
    Some(crate::model::time::Span {
        first: spans().map(|span| span.first).min()?,
        last: spans().map(|span| span.last).max()?,
    })
}

/// Whether `place` lost packets.
pub(super) fn lost_at(evidence: &Evidence<'_>, directions: &[(IpAddr, IpAddr)]) -> u64 {
    let of = directions.iter().filter_map(|direction| evidence.tallies.get(direction));
    of.map(|tally| tally.lost).sum()
}
