//! Splits: which communicator another one was made from, and which rank is which.
//!
//! The ranks of the parent gather colours and keys over their ring. A child greets with a magic
//! made from the parent's commHash (NCCL `src/init.cc`), so that the parent is certain.

use super::control::facts::{Split, SplitRequest};
use super::job::{CommunicatorId, Identity};
use super::roster::Entry;
use crate::decode::nccl::comm_hash::{self, Child};
use crate::model::nccl::Release;

/// Adds to `known` what another connection shows of the same split.
pub(super) fn merge(known: &mut Split, seen: &Split) {
    for request in &seen.requests {
        match known.requests.binary_search_by_key(&request.rank, |known| known.rank) {
            Ok(at) => known.requests[at].key = known.requests[at].key.or(request.key),
            Err(at) => known.requests.insert(at, *request),
        }
    }
    known.witness = known.witness.min(seen.witness);
}

/// Finds the parent of every communicator that has no root of its own.
pub(super) fn find_parents(entries: &mut [Entry]) {
    for child in 0..entries.len() {
        if entries[child].communicator.root.is_some() {
            continue;
        }
        let made = (0..entries.len())
            .filter(|parent| *parent != child)
            .find_map(|parent| Some((parent, made_by(&entries[parent], &entries[child])?)));
        let Some((parent, made)) = made else { continue };
        let top_ranks: Vec<Option<u32>> = made
            .ranks
            .iter()
            .map(|rank| entries[parent].ranks.get(rank).map(|rank| rank.top_rank.unwrap_or(rank.rank)))
            .collect();
        let entry = &mut entries[child];
        entry.communicator.parent = Some(CommunicatorId(parent as u32));
        entry.communicator.identity = Identity::CommHash(made.comm_hash);
        let is_whole = entry.communicator.nranks.is_none_or(|nranks| nranks as usize == top_ranks.len());
        for (rank, top_rank) in (0_u32..).zip(top_ranks) {
            if let Some(rank) = entry.ranks.get_mut(&rank).filter(|_| is_whole) {
                rank.top_rank = top_rank;
            }
        }
    }
}

/// A child as its parent makes it.
struct Made {
    comm_hash: u64,
    /// Ranks in the parent by rank in the child.
    ranks: Vec<u32>,
}

fn made_by(parent: &Entry, child: &Entry) -> Option<Made> {
    let Identity::CommHash(parent_hash) = parent.communicator.identity else { return None };
    let release = parent.release()?;
    let calls = (1_i32..).zip(&parent.splits);
    calls.flat_map(|(call, split)| colors(split).map(move |color| (call, split, color))).find_map(
        |(call, split, color)| {
            let made = Child { parent: parent_hash, call, color };
            (made.magic(release) == child.magic)
                .then(|| Made { comm_hash: made.comm_hash(release), ranks: members(split, color) })
        },
    )
}

/// The colours that make a child.
fn colors(split: &Split) -> impl Iterator<Item = i32> + use<> {
    let mut colors: Vec<i32> = split.requests.iter().map(|request| request.color).collect();
    colors.retain(|color| *color >= 0);
    colors.sort_unstable();
    colors.dedup();
    colors.into_iter()
}

/// Ranks of one colour in the order of the child: by key, then by rank.
fn members(split: &Split, color: i32) -> Vec<u32> {
    let mut requests: Vec<&SplitRequest> =
        split.requests.iter().filter(|request| request.color == color).collect();
    requests.sort_by_key(|request| (request.key, request.rank));
    requests.into_iter().map(|request| request.rank).collect()
}
