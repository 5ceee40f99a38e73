//! Which ranks of a communicator are which of the one it was split from.

use std::collections::BTreeMap;

use crate::link::job::{Communicator, CommunicatorId, Job, Rank};

/// The number of each rank in the parent, as far as it is known.
#[must_use]
pub fn parent_ranks(job: &Job) -> BTreeMap<(CommunicatorId, u32), u32> {
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators);
    let ranks = communicators.flat_map(|(id, communicator)| {
        let ranks = communicator.ranks.iter();
        ranks.filter_map(move |rank| {
            Some(((id, rank.rank), rank_in_parent(job, communicator, rank)?))
        })
    });
    ranks.collect()
}

/// The number that `rank` of `communicator` has in the parent; `None` unless process and GPU
/// identify it there.
fn rank_in_parent(job: &Job, communicator: &Communicator, rank: &Rank) -> Option<u32> {
    let parent = job.communicator(communicator.parent?)?;
    let same = parent.ranks.iter().find(|one| is_same(one, rank))?;
    Some(same.rank)
}

fn is_same(one: &Rank, other: &Rank) -> bool {
    let process = |rank: &Rank| (rank.address, rank.pid, rank.bus_id);
    one.pid.is_some() && process(one) == process(other)
}
