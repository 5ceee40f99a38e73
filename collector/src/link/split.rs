//! Splits: which communicator another one was made from, and which rank is which.
//!
//! The ranks of the parent gather colours and keys over their ring. A child greets with a magic
//! made from the parent's commHash (NCCL `src/init.cc`), so that the parent is certain.

use super::control::facts::{Split, SplitRequest};
use super::job::{CommunicatorId, Identity, Rank};
use super::roster::{CHILD_MAGIC, Entry};
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::{CharSign, HashFunction};
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
        let in_parent: Vec<Option<Rank>> =
            made.ranks.iter().map(|rank| entries[parent].ranks.get(rank).cloned()).collect();
        let entry = &mut entries[child];
        entry.communicator.parent = Some(CommunicatorId(parent as u32));
        entry.communicator.identity = Identity::CommHash(made.comm_hash);
        let is_whole =
            entry.communicator.nranks.is_none_or(|nranks| nranks as usize == in_parent.len());
        for (rank, in_parent) in (0_u32..).zip(in_parent) {
            let rank = entry.ranks.get_mut(&rank).filter(|_| is_whole);
            if let Some((rank, in_parent)) = rank.zip(in_parent) {
                rank.top_rank = in_parent.top_rank.or(Some(in_parent.rank));
                // The same process, which a child tells less of.
                rank.pid = rank.pid.or(in_parent.pid);
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
    let mut candidates =
        calls.flat_map(|(call, split)| colors(split).map(move |color| (call, split, color)));
    candidates.find_map(|(call, split, color)| {
        let comm_hash = comm_hash::of_split(
            parent_hash,
            call,
            color,
            HashFunction::of(release, CharSign::Signed),
        );
        let magic = magic_of(comm_hash, parent_hash, release);
        (magic == child.magic).then(|| Made { comm_hash, ranks: members(split, color) })
    })
}

/// What a child greets with: its commHash, since 2.23; before, the first bytes of its unique id,
/// which is a text that begins with the parent's commHash.
fn magic_of(child_hash: u64, parent_hash: u64, release: Release) -> u64 {
    if release >= CHILD_MAGIC {
        return child_hash;
    }
    let digits = (0..8).map(|digit| (parent_hash >> (60 - 4 * digit)) as u8 & 0xf);
    let letters = digits.map(|digit| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    let letters: Vec<u8> = letters.collect();
    letters.iter().rev().fold(0, |magic, letter| magic << 8 | u64::from(*letter))
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
