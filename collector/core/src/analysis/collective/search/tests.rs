//! Which channels a collective takes in.

use std::collections::BTreeSet;

use super::super::calls::Calls;
use super::super::lane::Message;
use super::super::slicing::SIMPLE_RING_CAPACITY;
use super::*;
use crate::link::job::NetConnectionId;

/// Messages of a lane: first packet in µs, bytes, when their CTS passed in µs, and whether that was
/// after the message before them.
type Sent = (u64, u64, u64, bool);

fn at_us(time: u64) -> Timestamp {
    Timestamp::from_nanos(time * 1000)
}

fn lane((sender, receiver): (u32, u32), sent: &[Sent]) -> Lane {
    let message = |(at, &(first, bytes, offered, is_fenced)): (usize, &Sent)| Message {
        bytes: Some(bytes),
        capacity: Some(SIMPLE_RING_CAPACITY),
        is_fenced: (at > 0).then_some(is_fenced),
        offered: Some(at_us(offered)),
        first: Some(at_us(first)),
        last: Some(at_us(first + 1)),
        place: at,
        number: at as u64 + 1,
        ..Message::default()
    };
    Lane {
        connection: NetConnectionId(0),
        sender: Some(sender),
        receiver: Some(receiver),
        graph: None,
        messages: sent.iter().enumerate().map(message).collect(),
        is_from_start: true,
        is_unanswered: false,
        transfer_count: sent.len(),
    }
}

/// An AllReduce of one loop between two ranks: `chunk` bytes each way, twice.
fn all_reduce(first: u64, offered: u64, chunk: u64, fenced: [bool; 4]) -> Vec<Sent> {
    let bytes = [chunk, 0, chunk, 0];
    let message = |((bytes, fenced), at)| (first + 10 * at, bytes, offered + at, fenced);
    bytes.into_iter().zip(fenced).zip(0..).map(message).collect()
}

fn traffic(lanes: Vec<Lane>) -> Traffic {
    let ring = |places: [usize; 2]| ChannelLanes {
        ring: places.to_vec(),
        positions: vec![Some(0), Some(1)],
        next: vec![Some((1, 1)), Some((0, 1))],
        is_whole: true,
        tree: Vec::new(),
        has_tree: false,
    };
    Traffic {
        lanes,
        channels: vec![ring([0, 1]), ring([2, 3])],
        point_to_point: Vec::new(),
        nranks: 2,
        is_cell_split: Some(true),
        calls: Calls::default(),
        simple_capacities: BTreeSet::from([SIMPLE_RING_CAPACITY]),
    }
}

/// A small collective on one channel, then a large one on both, which a rank begins on the second:
/// at the first collective, receivers were slow.
#[test]
fn a_channel_asked_for_after_the_end_belongs_to_the_next_collective() {
    let slow = [false, true, false, false];
    let next = [true, false, false, false];
    let both = |first, offered| {
        let mut sent = all_reduce(100, 90, 8192, slow);
        sent.extend(all_reduce(first, offered, 16_384, next));
        sent
    };
    let lanes = vec![
        lane((0, 1), &both(540, 500)),
        lane((1, 0), &both(550, 501)),
        lane((0, 1), &all_reduce(520, 500, 16_384, next)),
        lane((1, 0), &all_reduce(530, 501, 16_384, next)),
    ];
    let found = explain(&traffic(lanes));
    let seen: Vec<_> = found.iter().map(|one| (one.readings.len(), one.bytes(2))).collect();
    assert_eq!(seen, [(1, Some(16_384)), (2, Some(65_536))]);
}
