//! Ids of communicators. NCCL computes them of the unique id, which holds the address of the root, so other
//! addresses mean other ids: in logs, in greetings and in what ranks exchange. No id stays, even if nobody knows
//! its root: with a magic, whoever tries all addresses would find it.

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

/// Most communicators of unknown origin whose splits are looked for.
const PARENTS: usize = 1 << 12;

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
    add(&from_magic(magic, root).0, &from_magic(pseudonyms.id(magic), other).0, ids);
}

/// Adds those that are `seen` and that nothing is known of: first ids that were not split off others, then all that
/// were.
pub(super) fn add_others(seen: &BTreeSet<u64>, pseudonyms: &Pseudonyms, ids: &mut Ids) {
    let unknown: BTreeSet<u64> = seen.iter().copied().filter(|id| !ids.contains_key(id)).collect();
    let born: BTreeSet<u64> = unknown
        .iter()
        .take(PARENTS)
        .flat_map(|parent| splits().map(|split| split.of(*parent)))
        .filter(|child| unknown.contains(child))
        .collect();
    ids.extend(unknown.difference(&born).map(|id| (*id, pseudonyms.id(*id))));
    add_children(seen, ids);
}

/// How a communicator was split off another.
#[derive(Clone, Copy)]
struct Split {
    counter: i32,
    color: i32,
    function: HashFunction,
}

impl Split {
    fn of(self, parent: u64) -> u64 {
        of_split(parent, self.counter, self.color, self.function)
    }
}

/// All splits that are looked for.
fn splits() -> impl Iterator<Item = Split> {
    let all = (1..=SPLITS).flat_map(|counter| (0..COLORS).map(move |color| (counter, color)));
    let each = |(counter, color)| FUNCTIONS.map(|function| Split { counter, color, function });
    // Without a counter, the first says it all.
    all.flat_map(each).filter(|it| it.counter == 1 || it.function == HashFunction::TwoLane)
}

/// Adds ids of communicators that were split off, as far as they are `seen`.
pub(super) fn add_children(seen: &BTreeSet<u64>, ids: &mut Ids) {
    for _ in 0..GENERATIONS {
        let mut children = Ids::new();
        for (parent, other) in ids.iter().filter(|(parent, _)| seen.contains(parent)) {
            for split in splits() {
                let child = split.of(*parent);
                if seen.contains(&child) && !ids.contains_key(&child) {
                    children.insert(child, split.of(*other));
                }
            }
        }
        if children.is_empty() {
            return;
        }
        ids.extend(children);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    /// Whoever has a magic and an id of the original finds the root by trying all addresses.
    #[test]
    fn no_id_and_no_magic_stays() {
        let mut pseudonyms = Pseudonyms::new(Key::new([8; 32]));
        let (magic, root) = (0x0123_4567_89ab_cdef, "10.1.2.3:4567".parse().unwrap());
        let id = of_id(&from_magic(magic, root), HashFunction::TwoLane);
        assert!(pseudonyms.id(magic) != magic && pseudonyms.id(id) != id);
        // Without the root, all become others, and splits remain splits.
        let child = of_split(id, 3, 1, HashFunction::TwoLane);
        let grandchild = of_split(child, 1, 0, HashFunction::TwoLane);
        let seen = BTreeSet::from([id, child, grandchild]);
        let mut ids = Ids::new();
        add_others(&seen, &pseudonyms, &mut ids);
        assert!(ids.iter().all(|(before, after)| before != after) && ids.len() == 3);
        assert_eq!(ids[&child], of_split(ids[&id], 3, 1, HashFunction::TwoLane));
        assert_eq!(ids[&grandchild], of_split(ids[&child], 1, 0, HashFunction::TwoLane));
        // With it, ids are those of its other address and of the other magic.
        let mut ids = Ids::new();
        add_root(magic, root, &mut pseudonyms, &mut ids);
        let other = SocketAddr::new(pseudonyms.address(root.ip()), root.port());
        let other = from_magic(pseudonyms.id(magic), other);
        assert_eq!(ids[&id], of_id(&other, HashFunction::TwoLane));
        for constant in [0, 7, 0x564a_b9f2_fc4b_9d6c, u64::MAX] {
            assert_eq!(pseudonyms.id(constant), constant);
        }
    }
}
