//! The ranks took long to find each other.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::setup::{RankOnHost, SetupClaim};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::CommunicatorId;
use crate::link::log::membership::{Membership, TimingFact};
use crate::link::log::process::Process;

/// Slow bootstrap.
pub const KIND: Kind = Kind {
    id: "bootstrap_slow",
    about: "Initialising a communicator took long. The root answers when the last rank has checked \
            in, so one late rank (image pull, data set, slow node) keeps all GPUs idle.",
    threshold: "Longer than 10 s (slow_bootstrap_s; our choice: thousands of ranks take seconds).",
    remedy: "Find the last rank and what its host did before it called ncclCommInitRank: container \
             start, file system, name resolution, GPU reset.",
    needs: &[Need::Logs, Need::ControlPlane],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let limit_ns = (facts.settings.findings.slow_bootstrap_s * 1e9) as u64;
    let timed = timed(facts);
    let communicators = facts.job().map_or(0, |job| job.communicators.len());
    (0..communicators as u32)
        .map(CommunicatorId)
        .filter_map(|id| {
            let logged = || by_logs(facts, id, timed.get(&id)?, limit_ns);
            by_traffic(facts, id, limit_ns).or_else(logged)
        })
        .collect()
}

fn by_traffic(facts: &Facts<'_>, id: CommunicatorId, limit_ns: u64) -> Option<Finding> {
    let communicator = facts.communicator(id)?;
    let bootstrap = communicator.bootstrap?;
    let took_ns = bootstrap.span.last.nanos_since(bootstrap.span.first);
    if took_ns < limit_ns {
        return None;
    }
    let last = bootstrap.last_rank.map(|rank| {
        let known = communicator.ranks.iter().find(|known| known.rank == rank);
        let host = known.and_then(|rank| rank.host.clone());
        let address = || known.and_then(|rank| rank.address).map(|address| address.to_string());
        RankOnHost { rank, host: host.or_else(address) }
    });
    let claim = SetupClaim::SlowBootstrap { communicator: facts.identity_of(id), took_ns, last };
    let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
    Some(
        KIND.finding(Severity::Warning, claim)
            .about(Subject {
                communicator: Some(id),
                rank: bootstrap.last_rank,
                ..Subject::default()
            })
            .over(Some(bootstrap.span))
            .proven()
            .because(Proof::frames(FrameObservation::Bootstrap, witness)),
    )
}

/// The rank that its log says waited longest.
fn by_logs(
    facts: &Facts<'_>,
    id: CommunicatorId,
    timed: &[Timed<'_>],
    limit_ns: u64,
) -> Option<Finding> {
    let (process, member, timing) = timed.iter().max_by_key(|(.., timing)| timing.total_ns)?;
    if timing.total_ns < limit_ns {
        return None;
    }
    let receive_ns = timing.part("recv").unwrap_or(0);
    let times = LogObservation::BootstrapTimes { receive_ns, ranks: timed.len() as u64 };
    // If several logs report it, the rank that waited least came last.
    let last = timed.iter().min_by_key(|(.., timing)| timing.total_ns);
    let last = last.filter(|_| member.nranks as usize == timed.len() && timed.len() > 1);
    let rank = last.map(|(_, member, _)| member.rank);
    let on_host = |process: &Process, member: &Membership| RankOnHost {
        rank: member.rank,
        host: Some(process.host.clone()),
    };
    let claim = SetupClaim::SlowInit {
        communicator: facts.identity_of(id),
        slowest: on_host(process, member),
        took_ns: timing.total_ns,
        is_kept_waiting: receive_ns > timing.total_ns / 2,
        last: last.map(|(process, member, _)| on_host(process, member)),
    };
    Some(
        KIND.finding(Severity::Warning, claim)
            .about(Subject { communicator: Some(id), rank, ..Subject::default() })
            .proven()
            .because(Proof::log(times, timing.witness)),
    )
}

/// A rank whose log has the times of its bootstrap.
type Timed<'a> = (&'a Process, &'a Membership, &'a TimingFact);

fn timed<'a>(facts: &Facts<'a>) -> BTreeMap<CommunicatorId, Vec<Timed<'a>>> {
    let mut timed: BTreeMap<CommunicatorId, Vec<Timed<'a>>> = BTreeMap::new();
    for (place, process) in facts.state.logs.processes.iter().enumerate() {
        for (at, member) in process.memberships.iter().enumerate() {
            let id = facts.state.memberships.get(&(place, at));
            if let (Some(id), Some(timing)) = (id, member.setup.bootstrap.as_ref()) {
                timed.entry(*id).or_default().push((process, member, timing));
            }
        }
    }
    timed
}
