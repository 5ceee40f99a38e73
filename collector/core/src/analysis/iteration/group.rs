//! Jobs: communicators that share processes share their training steps.
//!
//! A process is identified by its host's address and PID; if the PID is unknown (no bootstrap in
//! the capture, no log), by the NICs that its data uses.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::link::job::{Communicator, CommunicatorId, Job, Rank};

/// What two communicators of one job have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Process(IpAddr, u32),
    Nic(IpAddr),
}

/// The communicators of each job, ascending.
pub(super) fn jobs(job: &Job) -> Vec<Vec<CommunicatorId>> {
    let mut roots: Vec<usize> = (0..job.communicators.len()).collect();
    let mut known: BTreeMap<Member, usize> = BTreeMap::new();
    for (at, communicator) in job.communicators.iter().enumerate() {
        if let Some(parent) = communicator.parent {
            unite(&mut roots, at, parent.0 as usize);
        }
        for member in members(communicator) {
            let first = *known.entry(member).or_insert(at);
            unite(&mut roots, at, first);
        }
    }
    let mut groups: BTreeMap<usize, Vec<CommunicatorId>> = BTreeMap::new();
    for at in 0..roots.len() {
        groups.entry(root(&roots, at)).or_default().push(CommunicatorId(at as u32));
    }
    groups.into_values().collect()
}

fn members(communicator: &Communicator) -> impl Iterator<Item = Member> + '_ {
    communicator.ranks.iter().flat_map(|rank: &Rank| {
        let process = rank.address.zip(rank.pid).map(|(host, pid)| Member::Process(host, pid));
        let nics = rank.nics.iter().filter(|_| process.is_none());
        let nics: Vec<Member> = nics.map(|nic| Member::Nic(nic.address)).collect();
        process.into_iter().chain(nics)
    })
}

fn root(roots: &[usize], mut at: usize) -> usize {
    while let Some(&above) = roots.get(at).filter(|above| **above != at) {
        at = above;
    }
    at
}

/// Joins two sets; the lower root becomes the root of both.
fn unite(roots: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(roots, one), root(roots, other));
    if let Some(above) = roots.get_mut(one.max(other)) {
        *above = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_united_has_one_root() {
        let mut roots: Vec<usize> = (0..6).collect();
        for (one, other) in [(4, 5), (1, 4), (0, 2), (5, 1)] {
            unite(&mut roots, one, other);
        }
        let found: Vec<usize> = (0..6).map(|at| root(&roots, at)).collect();
        assert_eq!(found, [0, 1, 0, 3, 1, 1]);
    }
}
