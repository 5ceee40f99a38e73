//! A path, a port, a host or a queue pair over which nothing comes back.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::path::outage::Outage;
use crate::analysis::path::passage::{Passage, Passages};
use crate::analysis::path::place::{Place, explaining, locate};
use crate::analysis::path::tally::Direction;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Verdict, VerdictClaim};
use crate::model::grade::Grade;

/// What follows when nothing passes a place.
const FOLLOWS: &[&str] = &[
    "timeouts",
    "loss",
    "reordering",
    "stalled_collective",
    "straggler",
    "slow_path",
    "receiver_not_ready",
    "master_unreachable",
    "bootstrap_incomplete",
    "communicator_failed",
    "nccl_warning",
];

/// Of these findings, only those on the way follow.
const ON_THE_WAY: &[&str] = &["timeouts", "loss", "reordering"];

/// Nothing comes back.
pub const RULE: Rule = Rule {
    reason: "Where nothing passes, senders time out and send again, every rank of the ring stops \
             within one message, and connections that are opened later are refused or unanswered.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    evidence.outages.iter().filter_map(|outage| verdict(evidence, outage)).collect()
}

fn verdict(evidence: &Evidence<'_>, outage: &Outage) -> Option<Verdict> {
    let Located { subject, class, mut alternative, grade } = locate_outage(evidence, outage)?;
    if outage.is_open && alternative.is_none() && may_be_pause(evidence, class, &subject) {
        alternative = Some(Class::Pause);
    }
    let length_ns = outage.span.length_ns();
    let claim = VerdictClaim::Outage {
        length_ns,
        is_open: outage.is_open,
        tries: outage.tries,
        flows: outage.flows.len() as u64,
    };
    let severity = if outage.is_open { Severity::Critical } else { Severity::Warning };
    let mut verdict = Verdict::new(class, severity, subject, claim);
    verdict.alternative = alternative;
    verdict.grade = grade;
    verdict.span = Some(outage.span);
    let seen = evidence.facts.roce_span()?;
    verdict = verdict.costing(length_ns, seen.length_ns());
    let is_of_outage = |finding: &Finding| {
        finding.flows.iter().any(|flow| outage.flows.contains(flow))
            || finding.subject.flow.is_some_and(|flow| outage.flows.contains(&flow))
    };
    for id in ["timeouts", "loss"] {
        let rests = evidence.named(id).filter(|(_, finding)| is_of_outage(finding));
        verdict.rests_on.extend(rests.map(|(at, _)| at));
    }
    // A rank that is late by itself is so without an outage.
    let own = [Cause::Enqueue, Cause::Compute, Cause::Sender].map(Cause::name).map(Some);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        let is_own = finding.id == "straggler" && own.contains(&finding.cause);
        let is_elsewhere = ON_THE_WAY.contains(&finding.id)
            && !finding.flows.is_empty()
            && !evidence
                .queue_pairs(finding)
                .any(|pair| outage.is_between(pair.source, pair.destination));
        !is_own && !is_elsewhere
    });
    Some(verdict)
}

/// Whether a NIC that pauses its switch for ever would look the same: it sends, and nothing reaches it.
/// Its counters and pause frames would show that; a capture on a NIC has no pause frames.
fn may_be_pause(evidence: &Evidence<'_>, class: Class, subject: &VerdictSubject) -> bool {
    let is_one_way = class == Class::PortDown && subject.heading == Some(Heading::Towards);
    let is_counted = |port| evidence.facts.state.counters.of_port(port).next().is_some();
    is_one_way
        && evidence.facts.pauses().is_empty()
        && subject.port.is_some_and(|port| !is_counted(port))
}

/// Whether packets were lost in directions in which nothing passed for a while.
pub(super) fn explains_loss(evidence: &Evidence<'_>, is_lossy: impl Fn(Direction) -> bool) -> bool {
    evidence.outages.iter().any(|outage| {
        let mut ways = outage.directions.keys();
        ways.any(|(one, other)| is_lossy((*one, *other)) || is_lossy((*other, *one)))
            && locate_outage(evidence, outage).is_some()
    })
}

/// What is known of the place of an outage.
struct Located {
    subject: VerdictSubject,
    class: Class,
    alternative: Option<Class>,
    grade: Grade,
}

/// Where it is: what passed in the meantime tells; without taps at both ends, the packets lost over
/// the whole capture, or what the silent flows have in common. `None` if nothing was dead: packets
/// arrived, others were answered in the meantime, and so were these in the end.
fn locate_outage(evidence: &Evidence<'_>, outage: &Outage) -> Option<Located> {
    if let Some(port) = outage.counted_down(evidence.facts.state) {
        return Some(Located {
            subject: VerdictSubject::at(Place::Port(port)),
            class: Class::PortDown,
            alternative: None,
            grade: Grade::Proven,
        });
    }
    let passages = Passages::new(evidence.facts.state, &evidence.ends, outage);
    let dead: BTreeSet<Direction> = passages.directions(Passage::Dead).collect();
    if !dead.is_empty() {
        return Some(of_dead(&passages, &dead, outage));
    }
    let arrived = outage
        .directions
        .keys()
        .copied()
        .find(|direction| passages.of(*direction) == Passage::Alive);
    if let Some((source, destination)) = arrived {
        return of_unanswered(evidence, &passages, outage, (source, destination));
    }
    let ports: BTreeSet<&IpAddr> =
        outage.directions.keys().flat_map(|(one, other)| [one, other]).collect();
    let concerned = evidence.tallies.iter().filter(|((source, destination), tally)| {
        tally.is_whole && (ports.contains(source) || ports.contains(destination))
    });
    let concerned = concerned.map(|(direction, tally)| (*direction, *tally)).collect();
    Some(match locate(&concerned).first() {
        Some(located) => of_places(located.place, &located.rivals),
        None => of_flows(outage),
    })
}

/// Packets were sent and did not arrive.
fn of_dead(passages: &Passages, dead: &BTreeSet<Direction>, outage: &Outage) -> Located {
    let alive: BTreeSet<Direction> = passages.directions(Passage::Alive).collect();
    let mut places = explaining(dead, &alive);
    // A port that nothing reaches, and that sends nothing either, though it should.
    let is_down = |place: &Place| match place {
        Place::Port(port) => {
            passages.is_silent(*port) && (passages.is_waiting(*port) || passages.never_began(*port))
        }
        _ => false,
    };
    let down = places.iter().copied().find(is_down);
    // A ring streams through all ports at once: a sick one has trouble with both neighbours.
    let is_well_elsewhere = |place: &Place| match place {
        Place::Towards(port) | Place::From(port) | Place::Port(port) => {
            passages.has_one_sick_peer(*port)
        }
        _ => false,
    };
    if places.iter().any(|place| place.is_path()) {
        places.retain(|place| !is_well_elsewhere(place));
    }
    let one_way: Vec<Place> =
        places.iter().copied().filter(|place| !matches!(place, Place::Port(_))).collect();
    match (down, one_way.split_first()) {
        (Some(place), _) => Located {
            subject: VerdictSubject::at(place),
            class: Class::PortDown,
            alternative: match outage.is_open {
                true => Some(Class::HostDead),
                // A port with nothing to send is silent, too.
                false => is_idle(passages, place, outage).then_some(Class::PathDead),
            },
            grade: Grade::Inferred,
        },
        (None, Some((place, rivals))) => of_places(*place, rivals),
        (None, None) => match places.first() {
            Some(place) => of_places(*place, &[]),
            None => of_flows(outage),
        },
    }
}

/// Whether only one other port misses answers of this one, which itself misses none.
fn is_idle(passages: &Passages, place: Place, outage: &Outage) -> bool {
    let Place::Port(port) = place else { return false };
    let ends = outage.directions.keys().flat_map(|(one, other)| [*one, *other]);
    let others: BTreeSet<IpAddr> = ends.filter(|end| *end != port).collect();
    !passages.is_waiting(port) && others.len() == 1
}

/// Packets arrived and were not answered. `None` if the port answered others, and these later.
fn of_unanswered(
    evidence: &Evidence<'_>,
    passages: &Passages,
    outage: &Outage,
    (source, destination): Direction,
) -> Option<Located> {
    let is_silent = passages.is_silent(destination);
    let silent = outage.directions.get(&(source, destination)).copied().unwrap_or(0);
    let is_process = is_silent || silent >= evidence.senders(source, destination).max(2);
    if is_process && (is_silent || outage.is_open) {
        let subject = VerdictSubject { port: Some(destination), ..VerdictSubject::default() };
        return Some(Located {
            subject: with_rank(evidence, subject),
            class: Class::ProcessGone,
            alternative: Some(if is_silent { Class::HostDead } else { Class::QueuePairError }),
            grade: Grade::Inferred,
        });
    }
    if !outage.is_open {
        return None;
    }
    let subject = VerdictSubject {
        port: Some(destination),
        peer_port: Some(source),
        flow: outage.flows.first().copied(),
        ..VerdictSubject::default()
    };
    Some(Located {
        subject,
        class: Class::QueuePairError,
        alternative: Some(Class::ProcessGone),
        grade: Grade::Inferred,
    })
}

fn with_rank(evidence: &Evidence<'_>, subject: VerdictSubject) -> VerdictSubject {
    let ranks = subject.port.map(|port| evidence.rank_ports.ranks_at(port)).unwrap_or_default();
    match ranks[..] {
        [(communicator, rank)] => {
            VerdictSubject { communicator: Some(communicator), rank: Some(rank), ..subject }
        }
        _ => subject,
    }
}

fn of_places(place: Place, rivals: &[Place]) -> Located {
    let class = |place: Place| if place.is_path() { Class::PathDead } else { Class::PortDown };
    let own = class(place);
    Located {
        subject: VerdictSubject::at(place),
        class: own,
        alternative: rivals.iter().map(|place| class(*place)).find(|class| *class != own),
        grade: if rivals.is_empty() { Grade::Proven } else { Grade::Inferred },
    }
}

fn of_flows(outage: &Outage) -> Located {
    let mut ports: Vec<_> =
        outage.directions.keys().flat_map(|(one, other)| [*one, *other]).collect();
    ports.sort_unstable();
    let count = |port| ports.iter().filter(|other| **other == port).count();
    let busiest = ports.iter().copied().max_by_key(|port| count(*port));
    let Some(port) = busiest else {
        return Located {
            subject: VerdictSubject::default(),
            class: Class::PathDead,
            alternative: None,
            grade: Grade::Unknown,
        };
    };
    let of_port = outage.directions.keys().filter(|(one, other)| [*one, *other].contains(&port));
    let mut peers: Vec<_> =
        of_port.map(|(one, other)| if *one == port { *other } else { *one }).collect();
    peers.sort_unstable();
    peers.dedup();
    if let [peer] = peers[..] {
        let (source, destination) =
            outage.directions.keys().next().copied().unwrap_or((peer, port));
        let subject = VerdictSubject {
            port: Some(destination),
            peer_port: Some(source),
            ..VerdictSubject::default()
        };
        return Located {
            subject,
            class: Class::PathDead,
            alternative: Some(Class::PortDown),
            grade: Grade::Inferred,
        };
    }
    let subject = VerdictSubject {
        port: Some(port),
        heading: Some(Heading::Both),
        ..VerdictSubject::default()
    };
    Located {
        subject,
        class: Class::PortDown,
        alternative: Some(Class::HostDead),
        grade: Grade::Inferred,
    }
}
