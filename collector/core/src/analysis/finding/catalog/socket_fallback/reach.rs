//! Whether a process that uses NET/Socket sends to other hosts, and over what.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::network::Reach;
use crate::analysis::finding::facts::Facts;
use crate::link::log::process::Process;

/// Ranks from which on a job hardly ever fits on one host: most have 8 GPUs.
const MANY_RANKS: u32 = 8;

/// Whether ranks of its communicators are on other hosts.
pub(super) fn of(facts: &Facts<'_>, at: usize, process: &Process) -> Reach {
    let members = process.memberships.iter().enumerate();
    let reaches = members.map(|(place, member)| {
        if let Some(summary) = member.setup.summary {
            return if summary.nodes > 1 { Reach::Across } else { Reach::Within };
        }
        let id = facts.state.memberships.get(&(at, place));
        let ranks =
            id.and_then(|id| facts.communicator(*id)).into_iter().flat_map(|one| &one.ranks);
        let hosts: Vec<&str> = ranks.filter_map(|rank| rank.host.as_deref()).collect();
        let distinct: BTreeSet<&str> = hosts.iter().copied().collect();
        match distinct.len() {
            2.. => Reach::Across,
            _ if hosts.len() >= member.nranks as usize => Reach::Within,
            _ => Reach::Unknown,
        }
    });
    let known = reaches.max();
    if known == Some(Reach::Across) {
        return Reach::Across;
    }
    // Without communicators, processes of several hosts in one log are one job.
    let is_one_of_several =
        facts.state.logs.processes.iter().any(|other| other.host != process.host);
    match known {
        None if is_one_of_several => Reach::Across,
        _ if process.has_network_edges => Reach::Likely,
        None => Reach::Unknown,
        Some(known) => known,
    }
}

/// Whether one of its communicators has more ranks than most hosts have GPUs.
pub(super) fn is_large(process: &Process) -> bool {
    process.memberships.iter().any(|member| member.nranks > MANY_RANKS)
}

/// Its first interface, if that is IP over InfiniBand: then there is an HCA.
pub(super) fn ipoib(process: &Process) -> Option<String> {
    let first = process.interfaces.first().map(|(name, _)| name);
    let bootstrap = process.bootstrap.as_ref().map(|(name, _)| name);
    first.or(bootstrap).filter(|name| name.starts_with("ib")).cloned()
}

/// Whether its host has a name that EC2 gives: `ip-10-0-4-51`.
pub(super) fn is_on_ec2(process: &Process) -> bool {
    let numbers = process.host.strip_prefix("ip-").unwrap_or_default().split('-');
    let numbers: Vec<&str> = numbers.collect();
    numbers.len() == 4 && numbers.iter().all(|number| number.parse::<u8>().is_ok())
}
