//! What can be said where nothing is wrong: the network did its part, or too little was seen.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Missing, Verdict, VerdictClaim};
use crate::flow::state::Flow;
use crate::link::job::CommunicatorId;
use crate::link::position::Position;
use crate::model::grade::Grade;
use crate::model::tap::TapId;

/// A tap that lost one frame in so many has holes: what it did not see may have been lost.
const HOLES_ONE_IN: u64 = 1000;

/// The verdict on the network itself, if no other blames it.
pub fn conclude(evidence: &Evidence<'_>, found: &[Verdict]) -> Option<Verdict> {
    let is_own = |class| matches!(class, Class::LateRank | Class::SlowReceiver);
    let is_blamed = found.iter().any(|one| one.severity > Severity::Info && !is_own(one.class));
    // Without packets, profiles are all that was judged, and they name a rank.
    let is_profiled = |claim: &VerdictClaim| {
        matches!(claim, VerdictClaim::LateByProfiles(_) | VerdictClaim::SlowByProfiles(..))
    };
    let is_named =
        evidence.facts.flows.is_empty() && found.iter().any(|one| is_profiled(&one.claim));
    if is_blamed || is_named {
        return None;
    }
    let (class, claim, grade) = match missing(evidence) {
        Some(missing) => (Class::NotEnoughSeen, VerdictClaim::NotEnough(missing), Grade::Unknown),
        None => {
            let senders = evidence.facts.collectives.iter().flat_map(|judged| {
                judged.waits.ranks.iter().map(|rank| (judged.collective.communicator, rank.rank))
            });
            let claim = VerdictClaim::Healthy {
                ranks: senders.collect::<BTreeSet<_>>().len() as u64,
                collectives: evidence.facts.collectives.len() as u64,
                packets: evidence.facts.flows.iter().map(|flow| flow.frames).sum(),
                is_in_order: found.iter().all(|one| one.class != Class::PathsSprayed),
            };
            (Class::NetworkNotTheCause, claim, Grade::Inferred)
        }
    };
    let mut verdict = Verdict::new(class, Severity::Info, VerdictSubject::default(), claim);
    verdict.grade = grade;
    Some(verdict)
}

/// What is missing for the statement that the network is well.
pub fn missing(evidence: &Evidence<'_>) -> Option<Missing> {
    let facts = evidence.facts;
    if facts.flows.is_empty() {
        let has_logs = facts.state.logs.files.iter().any(|file| file.entries + file.job_lines > 0);
        let has_counters = !facts.state.counters.nics.is_empty();
        let has_records = !facts.state.roll_call.is_empty() || !facts.state.proxies.is_empty();
        let has_outputs = !facts.state.outputs.is_empty();
        return Some(match has_logs || has_counters || has_records || has_outputs {
            true => Missing::Packets {
                logs: has_logs,
                counters: has_counters,
                records: has_records,
                outputs: has_outputs,
            },
            false => Missing::Everything,
        });
    }
    if facts.collectives.is_empty() {
        return Some(Missing::Nccl);
    }
    let table = facts.table();
    let mut ports: BTreeSet<IpAddr> = BTreeSet::new();
    let mut near: BTreeSet<IpAddr> = BTreeSet::new();
    for joined in facts.flows {
        let views: Vec<&Flow> =
            joined.views.iter().filter_map(|at| table.get(*at as usize)).collect();
        if !views.iter().any(|flow| flow.has_sequence()) {
            continue;
        }
        ports.extend([joined.source, joined.destination]);
        for flow in views {
            match facts.state.position(flow) {
                _ if has_holes(evidence, flow.key.tap) => {}
                Position::Sender => near.extend([joined.source]),
                Position::Receiver => near.extend([joined.destination]),
                // A mirror sees what passes it of both ends; NAKs and retransmissions show what was
                // lost behind it.
                Position::Fabric | Position::Unknown => {
                    near.extend([joined.source, joined.destination]);
                }
            }
        }
    }
    let of = ports.len() as u64;
    let hosts: Vec<IpAddr> = hosts_without_ports(evidence).difference(&ports).copied().collect();
    let ports: Vec<IpAddr> = ports.difference(&near).copied().collect();
    (!(ports.is_empty() && hosts.is_empty())).then_some(Missing::Taps { ports, of, hosts })
}

/// Whether the tap lost too many frames for a statement on the network.
fn has_holes(evidence: &Evidence<'_>, tap: TapId) -> bool {
    let tracker = &evidence.facts.state.tracker;
    let frames = tracker.tap(tap).map_or(0, |tap| tap.frames);
    tracker.lost_frames(tap) * HOLES_ONE_IN > frames
}

/// Hosts of ranks of a job of which no port was seen.
fn hosts_without_ports(evidence: &Evidence<'_>) -> BTreeSet<IpAddr> {
    let mut hosts = BTreeSet::new();
    let communicators = evidence.facts.job().into_iter().flat_map(|job| &job.communicators);
    for (id, communicator) in (0..).map(CommunicatorId).zip(communicators) {
        let known = || communicator.ranks.iter().filter_map(|one| Some((one.address?, one.rank)));
        let has_port = |rank| evidence.rank_ports.has_port(id, rank);
        let seen: BTreeSet<IpAddr> =
            known().filter(|(_, rank)| has_port(*rank)).map(|(host, _)| host).collect();
        if !seen.is_empty() {
            hosts.extend(known().map(|(host, _)| host).filter(|host| !seen.contains(host)));
        }
    }
    hosts
}
