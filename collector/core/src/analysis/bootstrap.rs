//! How far the bootstrap of a communicator got.

use std::collections::{BTreeMap, BTreeSet};

use crate::link::job::{Communicator, CommunicatorId, Job};

/// The bootstrap of one communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapProgress {
    /// Ranks that did not check in.
    pub missing_ranks: MissingRanks,
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

/// The ranks of which nothing was seen; `None` if the number of ranks is unknown.
#[must_use]
pub fn missing_ranks(communicator: &Communicator) -> Option<MissingRanks> {
    let known: BTreeSet<u32> = communicator.ranks.iter().map(|rank| rank.rank).collect();
    Some(MissingRanks::beside(&known, communicator.nranks?))
}

/// Ranks that are not there. Any message may claim that a communicator has a million ranks: only the first
/// are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingRanks {
    /// The first of them, ascending.
    pub first: Vec<u32>,
    /// Their number.
    pub count: u64,
}

impl MissingRanks {
    /// Most that are listed.
    const LISTED: usize = 1024;

    /// The ranks below `nranks` that are not `known`.
    #[must_use]
    pub fn beside(known: &BTreeSet<u32>, nranks: u32) -> Self {
        let first = (0..nranks).filter(|rank| !known.contains(rank)).take(Self::LISTED).collect();
        let there = known.range(..nranks).count() as u64;
        Self { first, count: u64::from(nranks) - there }
    }

    /// Whether none is missing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The only one that is missing.
    #[must_use]
    pub fn only(&self) -> Option<u32> {
        self.first.first().copied().filter(|_| self.count == 1)
    }

    /// All but the first of all ranks.
    #[must_use]
    pub fn without_rank_0(mut self) -> Self {
        if self.first.first() == Some(&0) {
            self.first.remove(0);
            self.count -= 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_ranks_are_counted_and_a_thousand_listed() {
        let known: BTreeSet<u32> = [0, 1, 3, 1 << 19, (1 << 20) + 5].into();
        let missing = MissingRanks::beside(&known, 1 << 20);
        assert_eq!(missing.count, (1 << 20) - 4);
        assert_eq!((missing.first.len(), &missing.first[..3]), (1024, &[2, 4, 5][..]));
        assert_eq!(missing.without_rank_0().count, (1 << 20) - 4);
        let one = MissingRanks::beside(&[1, 2].into(), 3);
        assert_eq!((one.only(), one.without_rank_0().is_empty()), (Some(0), true));
    }
}
