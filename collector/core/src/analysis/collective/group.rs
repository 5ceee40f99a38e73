//! Collectives grouped by communicator, kind, algorithm, protocol and size: their usual duration and
//! bandwidth.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Collective;
use crate::analysis::judged::JudgedCollective;
use crate::link::job::{CommunicatorId, Job};
use crate::model::spread::{lower_median, upper_median};

/// Collectives of one kind and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveGroup {
    /// Indices of its collectives, in order of time; never empty.
    pub members: Vec<usize>,
    /// Index of the longest one.
    pub slowest: usize,
    /// Sum of their durations.
    pub total_ns: u64,
    /// Median duration (lower median).
    pub median_ns: u64,
    /// Longest duration.
    pub longest_ns: u64,
    /// Median algorithm bandwidth, bytes per second (upper median: that of the collective with the
    /// median duration).
    pub algorithm_bandwidth: Option<u64>,
    /// Median bus bandwidth, likewise.
    pub bus_bandwidth: Option<u64>,
}

/// What the collectives of a group have in common. Its order decides between groups of equal total
/// time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    communicator: CommunicatorId,
    kind: &'static str,
    alternatives: Vec<&'static str>,
    algorithm: &'static str,
    protocol: &'static str,
    bytes: Option<u64>,
}

/// The groups of `collectives`, the longest total time first.
#[must_use]
pub fn group(job: &Job, collectives: &[JudgedCollective]) -> Vec<CollectiveGroup> {
    let mut members: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, judged) in collectives.iter().enumerate() {
        members.entry(Key::new(&judged.collective)).or_default().push(at);
    }
    let group = |members| CollectiveGroup::new(job, collectives, members);
    let mut groups: Vec<_> = members.into_values().filter_map(group).collect();
    groups.sort_by_key(|group| Reverse(group.total_ns));
    groups
}

impl Key {
    fn new(one: &Collective) -> Self {
        Self {
            communicator: one.communicator,
            kind: one.kind.name(),
            alternatives: one.alternatives.iter().map(|kind| kind.name()).collect(),
            algorithm: one.algorithm.name(),
            protocol: one.protocol.name(),
            bytes: one.bytes,
        }
    }
}

impl CollectiveGroup {
    fn new(job: &Job, collectives: &[JudgedCollective], members: Vec<usize>) -> Option<Self> {
        let all = || members.iter().filter_map(|at| Some((*at, &collectives.get(*at)?.collective)));
        let durations = || all().map(|(_, one)| one.duration_ns());
        let (slowest, longest) = all().max_by_key(|(at, one)| (one.duration_ns(), Reverse(*at)))?;
        let nranks = job.communicator(longest.communicator).and_then(|known| known.nranks);
        let bus_bandwidth = |one: &Collective| one.bus_bandwidth(nranks?);
        Some(Self {
            slowest,
            total_ns: durations().sum(),
            median_ns: lower_median(durations())?,
            longest_ns: longest.duration_ns(),
            algorithm_bandwidth: upper_median(
                all().filter_map(|(_, one)| one.algorithm_bandwidth()),
            ),
            bus_bandwidth: upper_median(all().filter_map(|(_, one)| bus_bandwidth(one))),
            members,
        })
    }
}
