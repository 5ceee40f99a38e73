//! Collectives of one kind and size together: count, usual duration, bandwidth.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::collective::Collective;
use crate::analysis::collective::group::CollectiveGroup;
use crate::link::job::Job;

/// Collectives of one communicator, kind, algorithm, protocol and size.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveGroupReport {
    /// `id` of the communicator.
    pub communicator: String,
    /// As in `collectives`.
    pub kind: &'static str,
    /// As in `collectives`.
    pub alternatives: Vec<&'static str>,
    /// As in `collectives`.
    pub algorithm: &'static str,
    /// As in `collectives`.
    pub protocol: &'static str,
    /// Bytes of each, as nccl-tests counts them; `null` if messages are missing.
    pub bytes: Option<u64>,
    /// The bytes of at least one are rounded or partly unseen.
    pub estimated: bool,
    /// Number of collectives.
    pub count: u64,
    /// Fewest channels that carry one of them.
    pub min_channels: u32,
    /// Most channels that carry one of them.
    pub max_channels: u32,
    /// Sum of their durations, from first to last data packet.
    pub total_ns: u64,
    /// Median duration; the lower one of two in the middle.
    pub median_ns: u64,
    /// Longest duration.
    pub max_ns: u64,
    /// `id` of the slowest one.
    pub slowest: u32,
    /// Median of `algbw_bytes_per_s`; the higher one of two in the middle.
    pub algbw_bytes_per_s: Option<u64>,
    /// Median of `busbw_bytes_per_s`; the higher one of two in the middle.
    pub busbw_bytes_per_s: Option<u64>,
}

/// The groups, the one that took the most time in total first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CollectiveGroupReport> {
    let Some(job) = &sources.state.job else { return Vec::new() };
    let groups = &sources.understanding.collective_groups;
    groups.iter().filter_map(|group| report(sources, job, group)).collect()
}

fn report(
    sources: &Sources<'_>,
    job: &Job,
    group: &CollectiveGroup,
) -> Option<CollectiveGroupReport> {
    let collectives = &sources.understanding.collectives;
    let collective = |at: usize| Some(&collectives.get(at)?.collective);
    let all = || group.members.iter().filter_map(|at| collective(*at));
    let Collective { communicator, kind, alternatives, algorithm, protocol, bytes, .. } =
        collective(group.slowest)?;
    Some(CollectiveGroupReport {
        communicator: job.name_of(*communicator)?,
        kind: kind.name(),
        alternatives: alternatives.iter().map(|kind| kind.name()).collect(),
        algorithm: algorithm.name(),
        protocol: protocol.name(),
        bytes: *bytes,
        estimated: all().any(|one| one.is_estimated),
        count: group.members.len() as u64,
        min_channels: all().map(|one| one.channels).min()?,
        max_channels: all().map(|one| one.channels).max()?,
        total_ns: group.total_ns,
        median_ns: group.median_ns,
        max_ns: group.longest_ns,
        slowest: group.slowest as u32,
        algbw_bytes_per_s: group.algorithm_bandwidth,
        busbw_bytes_per_s: group.bus_bandwidth,
    })
}
