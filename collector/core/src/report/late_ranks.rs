//! Ranks that others waited for, in all collectives together.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::stragglers::{StragglerReport, by_name};
use crate::analysis::rank_waits::LateRank;
use crate::analysis::straggler::Cause;
use crate::link::job::Rank;

/// A rank that others waited for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LateRankReport {
    /// `id` of the communicator.
    pub communicator: String,
    /// The rank.
    pub rank: u32,
    /// Its host, as `communicators[].ranks[].place`; `null` if unknown.
    pub host: Option<String>,
    /// Collectives in which the others waited for it.
    pub collectives: u64,
    /// How long they waited in all of these.
    pub lag_ns: u64,
    /// How long they waited in the collective where they waited longest.
    pub longest_lag_ns: u64,
    /// `id` of that collective.
    pub longest_collective: u32,
    /// The cause there, as in `collectives[].straggler`.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub cause: Cause,
    /// Certainty of rank and cause there.
    pub grade: &'static str,
    /// Address of the port that shows it best there.
    pub port: Option<String>,
    /// The rail of that port.
    pub rail: Option<u32>,
}

/// The late ranks, the one that cost most first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<LateRankReport> {
    let late = sources.understanding.late_ranks.iter();
    late.filter_map(|late| report(sources, late)).collect()
}

fn report(sources: &Sources<'_>, late: &LateRank) -> Option<LateRankReport> {
    let communicator = sources.state.job.as_ref()?.communicator(late.communicator)?;
    let known = communicator.ranks.iter().find(|rank| rank.rank == late.rank);
    let longest = sources.understanding.collectives.get(late.longest)?.straggler.as_ref()?;
    let StragglerReport { lag_ns: longest_lag_ns, cause, grade, port, rail, .. } =
        StragglerReport::new(sources, longest);
    Some(LateRankReport {
        communicator: communicator.identity.to_string(),
        rank: late.rank,
        host: known.and_then(Rank::place),
        collectives: late.collectives,
        lag_ns: late.lag_ns,
        longest_lag_ns,
        longest_collective: late.longest as u32,
        cause,
        grade,
        port,
        rail,
    })
}
