//! Splits: which communicator another one was split from, and which rank is which.
//!
//! The ranks of the parent gather colours and keys over their ring. A child greets with a magic
//! derived from the parent's commHash (NCCL `src/init.cc`), so the parent is certain.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::control::facts::{Split, SplitRequest};
use super::job::{Identity, Rank};
use super::roster_entry::{CHILD_MAGIC, RosterEntry};
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::{CharSign, HashFunction};
use crate::model::nccl::Release;

/// Adds what another connection shows of the same split to `known`.
pub(super) fn merge(known: &mut Split, seen: &Split) {
    for request in &seen.requests {
        match known.requests.binary_search_by_key(&request.rank, |known| known.rank) {
            Ok(at) => known.requests[at].key = known.requests[at].key.or(request.key),
            Err(at) => known.requests.insert(at, *request),
        }
    }
    known.witness = known.witness.min(seen.witness);
}

/// A child requested of a communicator.
#[derive(Clone, Copy)]
struct Order {
    parent: usize,
    /// Index of the split in the parent.
    split: usize,
    color: i32,
    comm_hash: u64,
}

/// Finds the parent of every communicator without a root. Parents come before their children: each
/// round finds the children of those named in the previous round.
pub(super) fn find_parents(entries: &mut [RosterEntry]) {
    let mut orders: HashMap<u64, Vec<Order>, FixedState> = HashMap::default();
    let mut parents: Vec<usize> = (0..entries.len()).collect();
    let mut orphans: Vec<usize> =
        (0..entries.len()).filter(|at| entries[*at].communicator.root.is_none()).collect();
    while !parents.is_empty() {
        for parent in std::mem::take(&mut parents) {
            add_orders(&mut orders, parent, &entries[parent]);
        }
        orphans.retain(|child| {
            let candidates = orders.get(&entries[*child].magic).into_iter().flatten();
            let order = candidates.copied().find(|order| made(entries, order, *child));
            if let Some(order) = order {
                adopt(entries, &order, *child);
                parents.push(*child);
            }
            order.is_none()
        });
    }
}

fn add_orders(
    orders: &mut HashMap<u64, Vec<Order>, FixedState>,
    parent: usize,
    entry: &RosterEntry,
) {
    let Identity::CommHash(parent_hash) = entry.communicator.identity else { return };
    let Some(release) = entry.release() else { return };
    let function = HashFunction::for_release(release, CharSign::Signed);
    for (split, asked) in entry.splits.iter().enumerate() {
        for color in colors(asked) {
            let call = i32::try_from(split + 1).unwrap_or(i32::MAX);
            let comm_hash = comm_hash::of_split(parent_hash, call, color, function);
            let magic = magic_of(comm_hash, parent_hash, release);
            orders.entry(magic).or_default().push(Order { parent, split, color, comm_hash });
        }
    }
}

/// Whether `child` is the requested one. Until 2.22 all children of a communicator greet alike:
/// then their ranks' addresses decide.
fn made(entries: &[RosterEntry], order: &Order, child: usize) -> bool {
    let (parent, child_entry) = (&entries[order.parent], &entries[child]);
    let ranks = members(&parent.splits[order.split], order.color);
    let is_whole =
        child_entry.communicator.nranks.is_none_or(|nranks| nranks as usize == ranks.len());
    let is_same = |(at, in_parent): (u32, &u32)| {
        let own = child_entry.ranks.get(&at).and_then(|rank| rank.address);
        let there = parent.ranks.get(in_parent).and_then(|rank| rank.address);
        own.zip(there).is_none_or(|(own, there)| own == there)
    };
    order.parent != child && is_whole && (0_u32..).zip(&ranks).all(is_same)
}

fn adopt(entries: &mut [RosterEntry], order: &Order, child: usize) {
    let parent = &entries[order.parent];
    let ranks = members(&parent.splits[order.split], order.color);
    let in_parent: Vec<Option<Rank>> =
        ranks.iter().map(|rank| parent.ranks.get(rank).cloned()).collect();
    let entry = &mut entries[child];
    entry.parent = Some(order.parent);
    entry.communicator.identity = Identity::CommHash(order.comm_hash);
    for (rank, in_parent) in (0_u32..).zip(in_parent) {
        if let Some((rank, in_parent)) = entry.ranks.get_mut(&rank).zip(in_parent) {
            rank.top_rank = in_parent.top_rank.or(Some(in_parent.rank));
            // The same process, which a child describes less.
            rank.pid = rank.pid.or(in_parent.pid);
        }
    }
}

/// The magic of a child: its commHash, since 2.23; before, the first bytes of its unique id, a text
/// that starts with the parent's commHash.
fn magic_of(child_hash: u64, parent_hash: u64, release: Release) -> u64 {
    if release >= CHILD_MAGIC {
        return child_hash;
    }
    let digits = (0..8).map(|digit| (parent_hash >> (60 - 4 * digit)) as u8 & 0xf);
    let letters = digits.map(|digit| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    let letters: Vec<u8> = letters.collect();
    letters.iter().rev().fold(0, |magic, letter| magic << 8 | u64::from(*letter))
}

/// The colours that form a child.
fn colors(split: &Split) -> impl Iterator<Item = i32> + use<> {
    let mut colors: Vec<i32> = split.requests.iter().map(|request| request.color).collect();
    colors.retain(|color| *color >= 0);
    colors.sort_unstable();
    colors.dedup();
    colors.into_iter()
}

/// Ranks of one colour in the child's order: by key, then by rank.
fn members(split: &Split, color: i32) -> Vec<u32> {
    let mut requests: Vec<&SplitRequest> =
        split.requests.iter().filter(|request| request.color == color).collect();
    requests.sort_by_key(|request| (request.key, request.rank));
    requests.into_iter().map(|request| request.rank).collect()
}
