//! A path, a port, a host or a queue pair over which nothing comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Rule, explain};
use crate::analysis::exit::{Addresses, Exit, exit};
use crate::analysis::finding::Finding;
use crate::analysis::hang::{is_cut_short, latest};
use crate::analysis::path::outage::Outage;
use crate::analysis::path::passage::{Passage, Passages};
use crate::analysis::path::place::{Place, explaining, locate};
use crate::analysis::path::tally::Direction;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::{Heading, VerdictSubject};
use crate::analysis::verdict::{Verdict, VerdictClaim, grade_of};
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;

/// What follows when nothing passes a place.
const FOLLOWS: &[&str] = &[
    "timeouts",
    "link_down",
    "loss",
    "reordering",
    "stalled_collective",
    "straggler",
    "slow_path",
    "receiver_not_ready",
    "master_unreachable",
    "bootstrap_incomplete",
    "communicator_failed",
    "queue_pair_error",
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
    let mut located = locate_outage(evidence, outage)?;
    // One packet of each flow shows less than those that are sent again.
    let is_counted = outage.counted_down(evidence.facts.state).is_some();
    if outage.is_waiting && located.grade == Grade::Proven && !is_counted {
        located.grade = Grade::Inferred;
    }
    let Located { subject, class, mut alternative, mut grade } =
        narrowed_by_exit(evidence, outage, located);
    if outage.is_open && alternative.is_none() && may_be_pause(evidence, class, &subject) {
        alternative = Some(Class::Pause);
        grade = Grade::Inferred;
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
    // Where hardly a timer has expired yet, the collective that stopped is what shows it.
    if outage.is_waiting {
        let ports: BTreeSet<IpAddr> =
            outage.directions.keys().flat_map(|(one, other)| [*one, *other]).collect();
        let is_there = |finding: &Finding| {
            let stalled = evidence.ports_of_communicator(finding.subject.communicator);
            !stalled.is_disjoint(&ports)
        };
        let stalled = evidence.named("stalled_collective");
        verdict.rests_on.extend(stalled.filter(|(_, one)| is_there(one)).map(|(at, _)| at));
    }
    // A rank that is late by itself is so without an outage.
    let own = [Cause::Enqueue, Cause::Compute, Cause::Sender].map(Cause::name).map(Some);
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        let is_own = finding.id == "straggler" && own.contains(&finding.cause);
        let is_other_port = finding.id == "link_down"
            && !finding.subject.port.is_some_and(|port| outage.has_end(port));
        let is_elsewhere = ON_THE_WAY.contains(&finding.id)
            && !finding.flows.is_empty()
            && !evidence
                .queue_pairs(finding)
                .any(|pair| outage.is_between(pair.source, pair.destination));
        !is_own && !is_elsewhere && !is_other_port
    });
    Some(verdict)
}

/// What the kernel of the host leaves of the classes: it lives if it ends connections of the job.
fn narrowed_by_exit(evidence: &Evidence<'_>, outage: &Outage, located: Located) -> Located {
    const SILENT: [Class; 4] =
        [Class::ProcessGone, Class::HostDead, Class::PortDown, Class::PathDead];
    let is_silent = SILENT.contains(&located.class);
    // While other jobs use the same ports, little of what a dead process leaves unanswered is seen.
    let is_one_of_several = located.class == Class::QueuePairError;
    if !(is_silent || is_one_of_several) || located.grade == Grade::Proven {
        return located;
    }
    let ends = [located.subject.port, located.subject.peer_port].into_iter().flatten();
    let mut exits = ends.filter_map(|port| Some((port, exit_at(evidence, outage, port)?)));
    let Some((port, exit)) = exits.next() else { return located };
    // What the port sent itself shows that it works.
    if exit.is_cause || is_silent && exit.host == port {
        let subject = VerdictSubject { port: Some(port), ..VerdictSubject::default() };
        return Located {
            subject: with_rank(evidence, subject, &outage.flows),
            class: Class::ProcessGone,
            alternative: None,
            grade: Grade::Inferred,
        };
    }
    if is_one_of_several {
        return located;
    }
    let rest = [Some(located.class), located.alternative].into_iter().flatten();
    let mut rest = rest.filter(|class| *class != Class::HostDead);
    Located {
        class: rest.next().unwrap_or(Class::ProcessGone),
        alternative: rest.next(),
        ..located
    }
}

/// The end of the process that uses the port.
fn exit_at(evidence: &Evidence<'_>, outage: &Outage, port: IpAddr) -> Option<Exit> {
    let state = evidence.facts.state;
    let addresses = match evidence.rank_ports.ranks_at(port)[..] {
        [(id, rank)] => Addresses::of_rank(state, &evidence.rank_ports, id, rank),
        _ => Addresses::of_port(state, port),
    };
    exit(state, &addresses, outage.span.first)
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

/// Where it is: what passed in the meantime shows it; without taps at both ends, the packets lost over
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
        return Some(of_dead(evidence, &passages, &dead, outage));
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
    Some(match locate(&concerned, evidence.ways()).first() {
        Some(located) => {
            Located { grade: grade_of(located), ..of_places(located.place, &located.rivals) }
        }
        None => of_flows(evidence, &passages, outage),
    })
}

/// Packets were sent and did not arrive.
fn of_dead(
    evidence: &Evidence<'_>,
    passages: &Passages,
    dead: &BTreeSet<Direction>,
    outage: &Outage,
) -> Located {
    let alive: BTreeSet<Direction> = passages.directions(Passage::Alive).collect();
    let mut places = explaining(dead, &alive);
    // A port that nothing reaches, and that sends nothing either, though it should.
    let is_down = |place: &Place| match place {
        Place::Port(port) => {
            let never_began =
                || passages.never_began(*port) && !has_begun(evidence, passages, *port, outage);
            passages.is_silent(*port) && (passages.is_waiting(*port) || never_began())
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
    let has_path = places.iter().any(|place| place.is_path());
    let is_left_out = |place: &Place| has_path && is_well_elsewhere(place);
    let is_port_left_out = places.iter().any(is_left_out);
    places.retain(|place| !is_left_out(place));
    // The only path of a port and the port are one place.
    let ports: BTreeSet<IpAddr> = places.iter().filter_map(|place| place.port()).collect();
    let is_end = |port: IpAddr| ports.contains(&port) && evidence.peers(port).len() == 1;
    places.retain(|place| match *place {
        Place::Path(one, other) | Place::PathBoth(one, other) => !(is_end(one) || is_end(other)),
        _ => true,
    });
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
        (None, Some((place, rivals))) => {
            let mut located = of_places(*place, rivals);
            let may_be_port =
                place.is_path() && (is_port_left_out || may_be_port(passages, *place, outage));
            if may_be_port && located.alternative.is_none() {
                located.alternative = Some(Class::PortDown);
                located.grade = Grade::Inferred;
            }
            located
        }
        (None, None) => match places.first() {
            Some(place) => of_places(*place, &[]),
            None => of_flows(evidence, passages, outage),
        },
    }
}

/// Whether a port at the end of a dead path may be what is dead: it is silent, as one that died after it had sent all
/// that it could; or the flows without an answer go another way.
fn may_be_port(passages: &Passages, path: Place, outage: &Outage) -> bool {
    let is_silent = match path {
        Place::Path(_, end) => passages.is_silent(end),
        Place::PathBoth(one, other) => passages.is_silent(one) || passages.is_silent(other),
        _ => false,
    };
    is_silent || !outage.directions.keys().any(|way| path.includes(*way))
}

/// Whether the port had sent something in the collective in which answers stopped. Then it lived when that began; the
/// path was last used in the collective before, so it is likelier to be the one that died.
fn has_begun(evidence: &Evidence<'_>, passages: &Passages, port: IpAddr, outage: &Outage) -> bool {
    let Some(job) = evidence.facts.job() else { return false };
    let first = outage.longest.first;
    let begun = |id: CommunicatorId| {
        let latest = latest(evidence.facts.collectives, id, Some(first)).map(|(_, one)| one);
        let stopped = latest.filter(|one| first <= one.span.last || is_cut_short(job, one));
        stopped.map(|one| one.span.first).min()
    };
    let ranks = evidence.rank_ports.ranks_at(port);
    let mut begun = ranks.iter().filter_map(|(id, _)| begun(*id));
    begun.any(|begun| passages.has_sent_since(port, begun))
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
    let is_process =
        is_silent || silent >= evidence.senders(source, destination, outage.tried).max(2);
    if is_process && (is_silent || outage.is_open) {
        let subject = VerdictSubject { port: Some(destination), ..VerdictSubject::default() };
        return Some(Located {
            subject: with_rank(evidence, subject, &outage.flows),
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

/// Adds the rank that does not answer: that of the port, or of several there the one that the silent flows go to.
fn with_rank(
    evidence: &Evidence<'_>,
    subject: VerdictSubject,
    flows: &BTreeSet<u32>,
) -> VerdictSubject {
    let Some(port) = subject.port else { return subject };
    let ranks = match evidence.rank_ports.ranks_at(port) {
        ranks if ranks.len() == 1 => ranks,
        _ => evidence.receivers(port, flows),
    };
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

/// No tap shows what arrived: what the silent flows have in common, and what was heard in the meantime.
fn of_flows(evidence: &Evidence<'_>, passages: &Passages, outage: &Outage) -> Located {
    let sources: BTreeSet<IpAddr> = outage.directions.keys().map(|(source, _)| *source).collect();
    let silent: BTreeSet<IpAddr> = outage.directions.keys().map(|(_, silent)| *silent).collect();
    let only = |ports: &BTreeSet<IpAddr>| ports.first().copied().filter(|_| ports.len() == 1);
    let at = |port, heading| VerdictSubject { port, heading, ..VerdictSubject::default() };
    match (only(&sources), only(&silent)) {
        // Between the two nothing passes; each reaches others.
        (Some(source), Some(destination))
            if passages.talks_beside(destination, source)
                && passages.talks_beside(source, destination) =>
        {
            Located {
                subject: VerdictSubject { peer_port: Some(source), ..at(Some(destination), None) },
                class: Class::PathDead,
                alternative: Some(Class::PortDown),
                grade: Grade::Inferred,
            }
        }
        (_, Some(destination)) if !passages.talks(destination) => Located {
            subject: with_rank(evidence, at(Some(destination), None), &outage.flows),
            class: Class::ProcessGone,
            alternative: Some(Class::PortDown),
            grade: Grade::Unknown,
        },
        (_, Some(destination)) => Located {
            subject: with_rank(
                evidence,
                at(Some(destination), Some(Heading::Towards)),
                &outage.flows,
            ),
            class: Class::PortDown,
            alternative: Some(Class::ProcessGone),
            grade: Grade::Unknown,
        },
        // It lives, and none of its peers answers.
        (Some(source), None) => Located {
            subject: at(Some(source), None),
            class: Class::PortDown,
            alternative: None,
            grade: Grade::Inferred,
        },
        (None, None) => of_busiest(outage),
    }
}

/// The port that most of the silent flows have in common.
fn of_busiest(outage: &Outage) -> Located {
    let ports = outage.directions.keys().flat_map(|(one, other)| [*one, *other]);
    let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
    ports.for_each(|port| *counts.entry(port).or_default() += 1);
    let busiest = counts.iter().max_by_key(|(_, count)| **count).map(|(port, _)| *port);
    let subject =
        VerdictSubject { port: busiest, heading: Some(Heading::Both), ..VerdictSubject::default() };
    Located {
        subject,
        class: Class::PortDown,
        alternative: Some(Class::HostDead),
        grade: Grade::Inferred,
    }
}
