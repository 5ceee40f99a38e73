//! Which verdict comes first, and which one each finding belongs to.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::class::Class;
use super::evidence::Evidence;
use super::rule::congestion::is_heavy;
use super::subject::Heading;
use super::{Verdict, VerdictClaim};
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;

/// A cost of a smaller share of the time that was seen, and of less time, is none that anybody would look for.
const NO_COST: f64 = 0.0001;
const NO_COST_NS: u64 = 10_000_000;
/// Shares of packets from which on loss, and marks or a wrong order, are trouble whatever they cost.
const MUCH_LOST: f64 = 0.001;
const MUCH_MARKED: f64 = 0.01;

/// The costliest first. What stops the job comes before what slows it; what cost nothing that was
/// seen comes last, and of that, what concerns few packets.
pub(super) fn order(verdicts: &mut [Verdict]) {
    verdicts.sort_by_key(|verdict| {
        let cost_ns = verdict.cost_ns.unwrap_or(0);
        let is_small = verdict.cost_share.is_some_and(|share| share < NO_COST);
        let cost = if is_small && cost_ns < NO_COST_NS { 0 } else { cost_ns };
        Reverse((verdict.severity, cost, concerns_many(verdict), rank(verdict.class), cost_ns))
    });
}

/// Whether it concerns many packets; true where costs are not known, and of what does not count packets.
fn concerns_many(verdict: &Verdict) -> bool {
    let is_share = |part: u64, of: u64, least: f64| part as f64 >= least * of as f64;
    verdict.cost_share.is_none()
        || match verdict.claim {
            VerdictClaim::Lost { lost: part, sent }
            | VerdictClaim::SentAgain { resent: part, sent } => is_share(part, sent, MUCH_LOST),
            VerdictClaim::Marked { marked: part, sent }
            | VerdictClaim::Reordered { late: part, sent } => is_share(part, sent, MUCH_MARKED),
            _ => true,
        }
}

/// A rank that takes data slowly starts late, too, and the other way round: of two verdicts on one
/// rank itself, the costlier one explains the other's findings.
pub(super) fn merge(verdicts: &mut Vec<Verdict>) {
    let is_own = |one: &Verdict| matches!(one.class, Class::LateRank | Class::SlowReceiver);
    let mut at = 0;
    while at < verdicts.len() {
        let same = |(_, other): &(usize, &Verdict)| {
            is_own(other)
                && other.subject.communicator == verdicts[at].subject.communicator
                && other.subject.rank == verdicts[at].subject.rank
        };
        let costlier = verdicts.iter().enumerate().filter(|(other, _)| *other != at).find(same);
        let costlier = costlier.map(|(other, one)| (other, one.cost_ns));
        match costlier {
            Some((other, cost_ns)) if is_own(&verdicts[at]) && cost_ns >= verdicts[at].cost_ns => {
                let merged = verdicts.remove(at);
                let other = if other > at { other - 1 } else { other };
                let explained = merged.rests_on.into_iter().chain(merged.explains);
                verdicts[other].explains.extend(explained);
            }
            _ => at += 1,
        }
    }
}

/// Removes verdicts that follow from another one, which then explains their findings and costs as
/// much. A rank whose NIC pauses its switch takes data slowly and comes late, and the rank before it
/// has no room for more. A rank whose own way out is congested, at half of that cost or more or all the
/// time, has no room for more. Packets that queue before a slow port may be reordered. A port that
/// pauses its switch without end receives nothing.
pub(super) fn absorb(verdicts: &mut Vec<Verdict>, evidence: &Evidence<'_>) {
    let is_dead = |one: &Verdict| {
        matches!(one.class, Class::PortDown | Class::PathDead)
            && one.subject.heading == Some(Heading::Towards)
    };
    let is_effect = |one: &Verdict| {
        matches!(one.class, Class::LateRank | Class::SlowReceiver | Class::Reordering)
            || is_dead(one)
    };
    let (effects, mut causes): (Vec<Verdict>, Vec<Verdict>) =
        std::mem::take(verdicts).into_iter().partition(is_effect);
    for effect in effects {
        let own = effect.subject.communicator.zip(effect.subject.rank);
        let ports: Vec<IpAddr> =
            own.map(|(id, rank)| evidence.rank_ports.ports_of(id, rank)).unwrap_or_default();
        let congested_ns =
            evidence.costs.of(&[Cause::Congestion], |id, rank| Some((id, rank)) == own);
        let is_slowed = congested_ns.saturating_mul(2) >= effect.cost_ns.unwrap_or(0);
        let follows = |cause: &&mut Verdict| {
            let Some(at) = cause.subject.port.filter(|_| cause.severity > Severity::Info) else {
                return false;
            };
            match cause.class {
                // Its switch holds back what it would send to a port that pauses it without end.
                Class::Pause if is_dead(&effect) => {
                    is_storm(evidence, cause) && effect.subject.port == Some(at)
                }
                Class::Pause => {
                    let sends_there = ports.iter().any(|port| evidence.sends_data(*port, at));
                    ports.contains(&at) || (effect.class == Class::SlowReceiver && sends_there)
                }
                Class::Congestion => {
                    effect.class == Class::SlowReceiver
                        && cause.subject.heading != Some(Heading::From)
                        && ports.iter().any(|port| evidence.sends(*port, at))
                        && (is_slowed || is_heavy(cause))
                }
                _ => false,
            }
        };
        let is_behind_queue = |cause: &&mut Verdict| {
            cause.class == Class::Other("slow_path")
                && effect.class == Class::Reordering
                && cause.subject.port == effect.subject.port
        };
        let follows = |cause: &&mut Verdict| follows(cause) || is_behind_queue(cause);
        match causes.iter_mut().find(follows) {
            Some(cause) => {
                cause.cost_ns = cause.cost_ns.max(effect.cost_ns);
                cause.cost_share = match (cause.cost_share, effect.cost_share) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    (one, other) => one.or(other),
                };
                if is_dead(&effect) {
                    cause.span = effect.span.or(cause.span);
                }
                cause.explains.extend(effect.rests_on.into_iter().chain(effect.explains));
                cause.explains.sort_unstable();
                cause.explains.dedup();
            }
            None => causes.push(effect),
        }
    }
    *verdicts = causes;
}

/// Whether the pause never ended.
fn is_storm(evidence: &Evidence<'_>, pause: &Verdict) -> bool {
    let mut rests = pause.rests_on.iter().filter_map(|at| evidence.findings.get(*at));
    rests.any(|finding| finding.id == "pfc_storm")
}

/// At equal cost, the deeper cause.
const fn rank(class: Class) -> u8 {
    match class {
        Class::HostDead => 9,
        Class::PortDown => 8,
        Class::PathDead => 7,
        Class::ProcessGone => 7,
        Class::QueuePairError => 6,
        Class::Loss => 5,
        Class::Reordering => 4,
        Class::Pause => 3,
        Class::Congestion => 2,
        // It slows a job down, and stops none.
        Class::SocketFallback => 0,
        _ => 1,
    }
}

/// The verdict of each of so many findings: the first that rests on it, else the first that explains
/// it.
pub(super) fn explained_by(verdicts: &[Verdict], findings: usize) -> Vec<Option<usize>> {
    (0..findings)
        .map(|at| {
            let rests = verdicts.iter().position(|one| one.rests_on.contains(&at));
            rests.or_else(|| verdicts.iter().position(|one| one.explains.contains(&at)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::subject::VerdictSubject;
    use super::*;

    fn verdict(class: Class, claim: VerdictClaim, cost_ns: u64) -> Verdict {
        let subject = VerdictSubject::default();
        Verdict::new(class, Severity::Warning, subject, claim).costing(cost_ns, 1_000_000_000)
    }

    #[test]
    fn a_few_lost_packets_that_cost_nothing_come_last() {
        let ordered = |lost: u64, marked: u64, cost_ns: u64| {
            let loss = VerdictClaim::Lost { lost, sent: 30_000 };
            let marks = VerdictClaim::Marked { marked, sent: 30_000 };
            let mut verdicts =
                [verdict(Class::Loss, loss, cost_ns), verdict(Class::Congestion, marks, 0)];
            order(&mut verdicts);
            verdicts.map(|verdict| verdict.class)
        };
        assert_eq!(ordered(3, 15_000, 15_000), [Class::Congestion, Class::Loss]);
        assert_eq!(ordered(3, 30, 15_000), [Class::Loss, Class::Congestion], "0.1 % are marked");
        assert_eq!(ordered(3, 15_000, 15_000_000), [Class::Loss, Class::Congestion], "15 ms");
        assert_eq!(ordered(300, 15_000, 15_000), [Class::Loss, Class::Congestion], "1 % are lost");
    }
}
