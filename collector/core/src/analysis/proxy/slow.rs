//! Edges on which transfers wait longer than on others: a receiver that grants room late, or a slow path.
//!
//! A send with its data there waits for room: after the first of an operation, only a receiver that takes
//! data slowly makes it wait. Once it is sent it waits for the network; why that is slow, records do not
//! show.

use std::collections::BTreeMap;

use super::{EdgeKey, EdgeWaits, ProcessRecords};

/// Least part of the collectives' time that a slow path must cost: one in so many.
const PATH_PART: u64 = 10;
/// The same of a receiver: busy hosts make others wait for room, too.
const RECEIVER_PART: u64 = 5;
/// How many times longer than on any other edge a receiver makes wait.
const RECEIVER_FACTOR: u64 = 3;
/// How many times longer than on the middle edge a slow path takes.
const PATH_FACTOR: u64 = 2;
/// Edges that are compared; with fewer, each is the other's only measure.
const LEAST_EDGES: usize = 3;
/// Transfers that are on the way at once on a channel: their waits in the network overlap.
const IN_FLIGHT: u64 = 4;

/// An edge on which transfers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowEdge {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Nanoseconds that it cost, a channel on average.
    pub waited_ns: u64,
}

/// What the senders of a communicator recorded of their edges, by sender and receiver.
pub(super) type Edges = BTreeMap<(u32, u32), EdgeWaits>;

/// Adds the edges of `process` that send, with `rank` in communicator number `comm`.
pub(super) fn add(edges: &mut Edges, process: &ProcessRecords, comm: u32, rank: u32) {
    for (EdgeKey { peer, .. }, waits) in process.edges_of(comm).filter(|(key, _)| key.is_send) {
        // A process may have several files: the ones before were renamed.
        edges.entry((rank, *peer)).or_default().merge(waits);
    }
}

/// The receiver that grants room late. Who waits for room itself only passes that on to those before it.
pub(super) fn receiver(edges: &Edges, lasted_ns: u64) -> Option<SlowEdge> {
    let waited = |waits: &EdgeWaits| waits.later.total_ns / waits.channels();
    let passes_on = |to: u32, waited_ns: u64| {
        edges.range((to, 0)..=(to, u32::MAX)).any(|(_, waits)| {
            let [_, room, _] = waits.waits;
            room.total_ns / waits.channels() >= waited_ns / 2
        })
    };
    let mut causes: Vec<SlowEdge> = edges
        .iter()
        .map(|((from, to), waits)| SlowEdge { from: *from, to: *to, waited_ns: waited(waits) })
        .filter(|edge| edge.waited_ns > 0 && !passes_on(edge.to, edge.waited_ns))
        .collect();
    causes.sort_by_key(|edge| edge.waited_ns);
    let worst = causes.pop()?;
    let next = causes.pop().map_or(0, |edge| edge.waited_ns);
    let is_slow = edges.len() >= LEAST_EDGES
        && worst.waited_ns >= next.saturating_mul(RECEIVER_FACTOR)
        && worst.waited_ns > lasted_ns / RECEIVER_PART;
    is_slow.then_some(worst)
}

/// The rank whose sends wait longest for the network, on average.
pub(super) fn longest(edges: &Edges) -> Option<u32> {
    edges.iter().max_by_key(|(_, waits)| waits.network_mean_ns()).map(|((from, _), _)| *from)
}

/// The path on which data takes long.
pub(super) fn path(edges: &Edges, lasted_ns: u64) -> Option<SlowEdge> {
    let mean = EdgeWaits::network_mean_ns;
    let ((from, to), worst) = edges.iter().max_by_key(|(_, waits)| mean(waits))?;
    let mut others: Vec<u64> = edges
        .iter()
        .filter(|(edge, _)| *edge != &(*from, *to))
        .map(|(_, waits)| mean(waits))
        .collect();
    others.sort_unstable();
    let middle = others.get(others.len() / 2).copied()?;
    let excess = mean(worst).saturating_sub(middle).saturating_mul(worst.network().count);
    let waited_ns = excess / worst.channels() / IN_FLIGHT;
    let is_slow = edges.len() >= LEAST_EDGES
        && mean(worst) >= middle.saturating_mul(PATH_FACTOR)
        && waited_ns > lasted_ns / PATH_PART;
    is_slow.then_some(SlowEdge { from: *from, to: *to, waited_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(figures: [(u64, u64); 4]) -> Edges {
        let edge = |(rank, (later_ms, send_ms)): (u32, (u64, u64))| {
            let mut waits = EdgeWaits::default();
            waits.later.add(later_ms * 1_000_000);
            for _ in 0..100 {
                waits.waits[2].add(send_ms * 1_000_000);
            }
            ((rank, (rank + 1) % 4), waits)
        };
        (0..).zip(figures).map(edge).collect()
    }

    #[test]
    fn one_edge_stands_out() {
        let slow = edges([(1, 2), (90, 2), (2, 3), (1, 2)]);
        let receiver = receiver(&slow, 400_000_000).unwrap();
        assert_eq!((receiver.to, receiver.waited_ns), (2, 90_000_000));
        assert_eq!(path(&slow, 500_000_000), None);
        let lossy = edges([(1, 2), (2, 40), (2, 3), (1, 2)]);
        let path = path(&lossy, 500_000_000).unwrap();
        assert_eq!((path.from, path.to), (1, 2));
        assert_eq!(super::receiver(&lossy, 500_000_000), None);
    }

    #[test]
    fn a_rank_that_waits_for_room_itself_is_no_slow_receiver() {
        let mut held_up = edges([(1, 2), (90, 2), (2, 3), (1, 2)]);
        held_up.get_mut(&(2, 3)).unwrap().waits[1].add(80_000_000);
        assert_eq!(receiver(&held_up, 500_000_000), None);
        // Those before a slow receiver fill up, too.
        held_up.get_mut(&(2, 3)).unwrap().later.add(120_000_000);
        assert_eq!(receiver(&held_up, 500_000_000).unwrap().to, 3);
        assert_eq!(longest(&held_up), Some(2));
    }

    #[test]
    fn all_alike_and_little_of_the_time_name_none() {
        let alike = edges([(90, 40), (80, 41), (85, 39), (90, 40)]);
        assert_eq!((receiver(&alike, 500_000_000), path(&alike, 500_000_000)), (None, None));
        let little = edges([(1, 2), (30, 9), (2, 2), (1, 2)]);
        assert_eq!(receiver(&little, 500_000_000), None);
        assert_eq!(path(&little, 50_000_000_000), None);
    }
}
