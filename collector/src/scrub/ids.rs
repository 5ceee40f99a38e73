//! Ids of communicators. NCCL computes them of the unique id, which holds the address of the root, so other
//! addresses mean other ids: in logs, in greetings and in what ranks exchange.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::pseudonym::Pseudonyms;
use railscope_core::decode::nccl::comm_hash::{logged_id, of_id, of_split};
use railscope_core::decode::nccl::hash::{CharSign, HashFunction};
use railscope_core::decode::nccl::unique_id::from_magic;
use railscope_core::model::nccl::UniqueId;

/// The functions that releases use.
const FUNCTIONS: [HashFunction; 3] = [
    HashFunction::Djb2a(CharSign::Signed),
    HashFunction::Djb2a(CharSign::Unsigned),
    HashFunction::TwoLane,
];

/// Most splits of a communicator, colours of a split, and generations that are looked for.
const SPLITS: i32 = 64;
const COLORS: i32 = 256;
const GENERATIONS: usize = 3;

/// Ids, and what they become.
pub(super) type Ids = BTreeMap<u64, u64>;

/// The ids of a communicator whose unique id was `before` and is `after`.
pub(super) fn add(before: &[u8; 128], after: &[u8; 128], ids: &mut Ids) {
    let (before, after) = (UniqueId(*before), UniqueId(*after));
    for function in FUNCTIONS {
        ids.insert(of_id(&before, function), of_id(&after, function));
    }
    for sign in [CharSign::Signed, CharSign::Unsigned] {
        ids.insert(logged_id(&before, sign), logged_id(&after, sign));
    }
}

/// The ids of a communicator whose connections greet with `magic` and whose root listens there.
pub(super) fn add_root(magic: u64, root: SocketAddr, pseudonyms: &mut Pseudonyms, ids: &mut Ids) {
    let other = SocketAddr::new(pseudonyms.address(root.ip()), root.port());
    add(&from_magic(magic, root).0, &from_magic(magic, other).0, ids);
}

/// Adds ids of communicators that were split off, as far as they are `seen`.
pub(super) fn add_children(seen: &BTreeSet<u64>, ids: &mut Ids) {
    for _ in 0..GENERATIONS {
        let mut children = Ids::new();
        for (parent, other) in ids.iter().filter(|(parent, _)| seen.contains(parent)) {
            for (counter, color) in
                (1..=SPLITS).flat_map(|counter| (0..COLORS).map(move |color| (counter, color)))
            {
                for function in FUNCTIONS {
                    // Without a counter, the first says it all.
                    if counter > 1 && function != HashFunction::TwoLane {
                        continue;
                    }
                    let child = of_split(*parent, counter, color, function);
                    if seen.contains(&child) && !ids.contains_key(&child) {
                        children.insert(child, of_split(*other, counter, color, function));
                    }
                }
            }
        }
        if children.is_empty() {
            return;
        }
        ids.extend(children);
    }
}
