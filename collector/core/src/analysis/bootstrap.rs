//! How far the bootstrap of a communicator got.

use std::collections::{BTreeMap, BTreeSet};

use crate::link::job::{Communicator, CommunicatorId, Job};

/// The bootstrap of one communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapProgress {
    /// Ranks that did not check in, ascending.
    pub missing_ranks: Vec<u32>,
    /// From the first check-in to the end of the last gather; `None` if it has not ended.
    pub duration_ns: Option<u64>,
    /// The rank that checked in last; `None` likewise.
    pub last_rank: Option<u32>,
}

impl BootstrapProgress {
    /// `None` if the bootstrap or the number of ranks was not captured.
    #[must_use]
    pub fn of(communicator: &Communicator) -> Option<Self> {
        let bootstrap = communicator.bootstrap?;
        let missing_ranks = missing_ranks(communicator)?;
        let is_complete = missing_ranks.is_empty();
        let duration_ns = bootstrap.span.last.nanos_since(bootstrap.span.first);
        Some(Self {
            missing_ranks,
            duration_ns: is_complete.then_some(duration_ns),
            last_rank: bootstrap.last_rank.filter(|_| is_complete),
        })
    }
}

/// That of each communicator, as far as it was captured.
#[must_use]
pub fn all(job: &Job) -> BTreeMap<CommunicatorId, BootstrapProgress> {
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators);
    communicators.filter_map(|(id, one)| Some((id, BootstrapProgress::of(one)?))).collect()
}

/// The ranks of which nothing was seen, ascending; `None` if the number of ranks is unknown.
#[must_use]
pub fn missing_ranks(communicator: &Communicator) -> Option<Vec<u32>> {
    let known: BTreeSet<u32> = communicator.ranks.iter().map(|rank| rank.rank).collect();
    Some((0..communicator.nranks?).filter(|rank| !known.contains(rank)).collect())
}
