//! The ranks took long to find each other.

use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Severity, Subject};
use crate::link::job::CommunicatorId;
use crate::link::log::membership::Membership;
use crate::link::log::process::Process;
use crate::model::quantity::{counted, duration};

/// Slow bootstrap.
pub const KIND: Kind = Kind {
    id: "bootstrap_slow",
    about: "Initialising a communicator took long. The root answers when the last rank has checked in, \
            so one late rank (image pull, data set, slow node) holds all GPUs idle.",
    threshold: "Longer than 10 s (slow_bootstrap_s; our choice: thousands of ranks take seconds).",
    remedy: "Find the last rank and what its host did before it called ncclCommInitRank: container \
             start, file system, name resolution, GPU reset.",
    needs: &[Need::Logs, Need::ControlPlane],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let limit_ns = (facts.settings.findings.slow_bootstrap_s * 1e9) as u64;
    let communicators = facts.job().map_or(0, |job| job.communicators.len());
    (0..communicators as u32)
        .map(CommunicatorId)
        .filter_map(|id| by_traffic(facts, id, limit_ns).or_else(|| by_logs(facts, id, limit_ns)))
        .collect()
}

fn by_traffic(facts: &Facts<'_>, id: CommunicatorId, limit_ns: u64) -> Option<Finding> {
    let communicator = facts.communicator(id)?;
    let bootstrap = communicator.bootstrap?;
    let took = bootstrap.span.last.nanos_since(bootstrap.span.first);
    if took < limit_ns {
        return None;
    }
    let last = bootstrap.last_rank.map_or_else(String::new, |rank| {
        let known = communicator.ranks.iter().find(|known| known.rank == rank);
        let host = known.and_then(|rank| rank.host.clone());
        let address = || known.and_then(|rank| rank.address).map(|address| address.to_string());
        let on = host.or_else(address).map_or_else(String::new, |host| format!(" on {host}"));
        format!("; rank {rank}{on} checked in last")
    });
    let name = facts.name_of(id);
    let title = format!("bootstrap of {name} took {}{last}", duration(took));
    let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
    let text = "from the first check-in at the root to the last gather".to_owned();
    Some(
        Finding::new(&KIND, Severity::Warning, title)
            .about(Subject {
                communicator: Some(id),
                rank: bootstrap.last_rank,
                ..Subject::default()
            })
            .over(Some(bootstrap.span))
            .proven()
            .because(Proof::frame(text, witness)),
    )
}

/// The rank that its log says waited longest.
fn by_logs(facts: &Facts<'_>, id: CommunicatorId, limit_ns: u64) -> Option<Finding> {
    let of_communicator =
        members(facts).filter(|(at, ..)| facts.state.memberships.get(at) == Some(&id));
    let timed = of_communicator.filter_map(|(_, process, member)| {
        Some((process, member, member.setup.bootstrap.as_ref()?))
    });
    let timed: Vec<_> = timed.collect();
    let (process, member, timing) = timed.iter().max_by_key(|(.., timing)| timing.total_ns)?;
    if timing.total_ns < limit_ns {
        return None;
    }
    let name = facts.name_of(id);
    let waited = timing.part("recv").unwrap_or(0);
    let mut title = format!(
        "bootstrap of {name} took rank {} on {} {}",
        member.rank,
        process.host,
        duration(timing.total_ns)
    );
    if waited > timing.total_ns / 2 {
        title.push_str(": another rank came late");
    }
    let text = format!(
        "{} of it waiting to receive; {} told how long it took",
        duration(waited),
        counted(timed.len() as u64, "rank")
    );
    // Whoever waited least came last, where several tell.
    let last = timed.iter().min_by_key(|(.., timing)| timing.total_ns);
    let last = last.filter(|_| member.nranks as usize == timed.len() && timed.len() > 1);
    let rank = last.map(|(_, member, _)| member.rank);
    if let Some((process, member, _)) = last {
        title.push_str(&format!("; rank {} on {} came last", member.rank, process.host));
    }
    Some(
        Finding::new(&KIND, Severity::Warning, title)
            .about(Subject { communicator: Some(id), rank, ..Subject::default() })
            .proven()
            .because(Proof::log(text, timing.witness)),
    )
}

fn members<'a>(
    facts: &Facts<'a>,
) -> impl Iterator<Item = ((usize, usize), &'a Process, &'a Membership)> {
    facts.state.logs.processes.iter().enumerate().flat_map(|(place, process)| {
        let members = process.memberships.iter().enumerate();
        members.map(move |(at, member)| ((place, at), process, member))
    })
}
