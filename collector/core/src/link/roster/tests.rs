//! Communicators from facts.

use super::*;
use crate::decode::nccl::layout::ReleaseRange;
use crate::link::control::facts::RingMember;
use crate::link::control::pool::Shared;
use crate::model::tap::TapId;

const RELEASES: ReleaseRange = ReleaseRange::KNOWN;

fn witness(number: u64) -> Witness {
    Witness::Frame { tap: TapId(0), number, time: Timestamp::from_nanos(number) }
}

fn host(rank: u32, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, rank as u8], port))
}

fn check_in(rank: u32, root_index: u32, magic: u64) -> CheckIn {
    CheckIn {
        magic: Some(magic),
        root: host(root_index, 1000),
        address: host(rank, 0).ip(),
        rank,
        nranks: 4,
        root_index,
        root_count: 2,
        root_listener: host(rank, 2000),
        ring_listener: Some(host(rank, 3000)),
        releases: RELEASES,
        witness: witness(u64::from(rank) + 1),
    }
}

fn ring(from: u32, to: u32, magic: u64) -> Ring {
    let members = (0..4).filter(|rank| *rank != to).map(|rank| RingMember {
        rank,
        peer_listener: Some(host(rank, 4000)),
        ..RingMember::default()
    });
    let span = Span { first: Timestamp::from_nanos(10), last: Timestamp::from_nanos(20) };
    Ring {
        magic: Some(magic),
        comm_hash: None,
        connector: host(from, 5000),
        listener: host(to, 3000),
        connector_rank: Some(from),
        nranks: Some(4),
        members: members.map(Shared::alone).collect(),
        splits: Vec::new(),
        releases: RELEASES,
        span,
        witness: witness(10),
    }
}

#[test]
fn several_roots_make_one_communicator() {
    // Ranks 2 and 3 know the second root, whose magic nobody else sees; the ring has the first's.
    let facts = ControlFacts {
        check_ins: vec![check_in(1, 0, 7), check_in(2, 0, 7), check_in(2, 1, 8), check_in(3, 1, 8)],
        rings: vec![ring(1, 2, 7), ring(2, 3, 7)],
        ..ControlFacts::default()
    };
    let roster = Roster::new(&facts);
    assert_eq!(roster.entries.len(), 1);
    let entry = &roster.entries[0];
    assert_eq!((entry.magic, entry.communicator.root), (7, Some(host(0, 1000))));
    assert!(entry.ranks.keys().copied().eq(0..4));
    assert_eq!(roster.index_of(8), roster.index_of(7));
}

#[test]
fn magics_beyond_the_capacity_are_counted() {
    let one = |magic| check_in(0, 0, magic);
    let check_ins = (0..CAPACITY as u64 + 5).map(one).collect();
    let roster = Roster::new(&ControlFacts { check_ins, ..ControlFacts::default() });
    assert_eq!((roster.entries.len(), roster.dropped_magics), (CAPACITY, 5));
}

#[test]
fn children_with_the_same_magic_are_distinguished_by_their_ranks() {
    // Until 2.22 the magic of every child is the start of its parent's commHash.
    let other = |ring: Ring| Ring {
        members: ring
            .members
            .into_iter()
            .map(|member| RingMember {
                peer_listener: Some(host(member.rank, 4001)),
                ..RingMember::clone(&member)
            })
            .map(Shared::alone)
            .collect(),
        ..ring
    };
    let rings = vec![ring(0, 1, 9), other(ring(0, 1, 9)), ring(1, 2, 9), other(ring(2, 3, 9))];
    let roster = Roster::new(&ControlFacts { rings, ..ControlFacts::default() });
    assert_eq!(roster.entries.len(), 2);
    assert!(roster.entries.iter().all(|entry| entry.ranks.len() == 4));
}

#[test]
fn a_magic_is_no_hash_where_nothing_says_so() {
    let facts = ControlFacts { rings: vec![ring(0, 1, 9)], ..ControlFacts::default() };
    assert_eq!(Roster::new(&facts).entries[0].communicator.identity, Identity::Magic(9));
    let rings = vec![Ring { comm_hash: Some(5), ..ring(0, 1, 9) }];
    let roster = Roster::new(&ControlFacts { rings, ..ControlFacts::default() });
    assert_eq!(roster.entries[0].communicator.identity, Identity::CommHash(5));
}
