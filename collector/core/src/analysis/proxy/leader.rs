//! Which process of each job is asked: the calls of one rank repeat as those of all do.
//!
//! Seen from another process, the same wait is in another training step, so each analysis must ask the same one.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::ProcessRecords;
use super::calls::{hashes, latest};

/// A process can lead if its calls cover nearly as much time as those of any other of its job: at most one part in
/// so many less. One that has just come does not know the training steps before.
const SHORTER_PARTS: u64 = 10;

/// It also needs this share of the calls of the one with most. Stages of a pipeline differ by ratios of small
/// numbers, which this is not, so that none is just at the limit.
const SHARE: f64 = 0.23;

/// Calls of a process that are looked at.
struct Calls {
    count: usize,
    /// From the first to the last one.
    length_ns: u64,
}

impl Calls {
    fn of(process: &ProcessRecords) -> Self {
        let times = || latest(process).map(|(_, called)| called.time_ns);
        let first = times().min().unwrap_or(0);
        let last = times().max().unwrap_or(0);
        Self { count: times().count(), length_ns: last - first }
    }
}

/// Places of one process of each job, of the job with most calls first. Processes that share communicators are
/// one job, also by way of others.
pub(super) fn leaders(processes: &[ProcessRecords]) -> Vec<usize> {
    let calls: Vec<Calls> = processes.iter().map(Calls::of).collect();
    let mut jobs: Vec<(BTreeSet<u64>, Vec<usize>)> = Vec::new();
    for at in (0..calls.len()).filter(|at| calls[*at].count > 0) {
        let own: BTreeSet<u64> = hashes(&processes[at]).map(|(_, hash)| hash).collect();
        let same = jobs.extract_if(.., |(hashes, _)| !own.is_disjoint(hashes));
        let mut job = (own.clone(), vec![at]);
        for (hashes, members) in same.collect::<Vec<_>>() {
            job.0.extend(hashes);
            job.1.extend(members);
        }
        job.1.sort_unstable();
        jobs.push(job);
    }
    let of_job = |(_, members): (_, Vec<usize>)| {
        let of_members = || members.iter().map(|at| &calls[*at]);
        let most = of_members().map(|one| one.count).max()?;
        let longest_ns = of_members().map(|one| one.length_ns).max()?;
        let can_lead = |at: &usize| {
            calls[*at].count as f64 >= SHARE * most as f64
                && calls[*at].length_ns >= longest_ns - longest_ns / SHORTER_PARTS
        };
        let fullest = members.iter().max_by_key(|at| (calls[**at].count, Reverse(**at)))?;
        let leader = members.iter().find(|at| can_lead(at)).unwrap_or(fullest);
        Some((most, *leader))
    };
    let mut leaders: Vec<(usize, usize)> = jobs.into_iter().filter_map(of_job).collect();
    leaders.sort_by_key(|(most, leader)| (Reverse(*most), *leader));
    leaders.into_iter().map(|(_, leader)| leader).collect()
}
