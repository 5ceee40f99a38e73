//! Rings and trees: how the ranks of a communicator are connected on each channel, computed from
//! the gathered topologies as each rank computes it (NCCL `src/graph/connect.cc`,
//! `src/graph/trees.cc`, 2.18 to 2.30).

use std::collections::BTreeMap;

use super::control::facts::{ChannelTopology, RankTopology};
use super::job::{Channel, TreeNode};
use crate::model::nccl::Graph;

/// Most channels of NCCL (`MAXCHANNELS`).
const CHANNEL_LIMIT: u32 = 128;

/// The ranks' topologies, by rank, and the node of each rank.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// By rank; ranks without a captured topology are missing.
    pub ranks: BTreeMap<u32, RankTopology>,
    /// A number for each rank's node: equal on the same host.
    pub nodes: BTreeMap<u32, u64>,
    /// Ranks of the communicator.
    pub nranks: u32,
}

/// One direction of one channel between two ranks, for one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The sending rank.
    pub sender: u32,
    /// The receiving rank.
    pub receiver: u32,
}

impl Topology {
    /// The channels, given the number of connections for the graph on some edges; empty unless
    /// every rank's topology was captured.
    #[must_use]
    pub fn channels(&self, seen: &BTreeMap<(Graph, Edge), u32>) -> Vec<Channel> {
        let Some((distinct, count)) = self.rings(seen) else { return Vec::new() };
        let trees = self.distinct_trees(distinct.len());
        (0..count)
            .map(|channel| Channel {
                channel: Some(channel),
                ring: distinct[channel as usize % distinct.len()].clone(),
                tree: trees.as_ref().map(|trees| trees[channel as usize % trees.len()].clone()),
            })
            .collect()
    }

    fn is_complete(&self) -> bool {
        let nranks = self.nranks as usize;
        nranks > 0 && self.ranks.len() == nranks && self.nodes.len() == nranks
    }

    /// Channels of a graph before NCCL doubles them: the number that every rank has.
    fn channel_count(&self, of: fn(&RankTopology) -> u32) -> usize {
        self.ranks.values().map(of).min().unwrap_or(0) as usize
    }

    /// Nodes in order of their first ranks, each with its ranks.
    fn nodes(&self) -> Vec<Vec<u32>> {
        let mut nodes: Vec<(u64, Vec<u32>)> = Vec::new();
        for (rank, node) in &self.nodes {
            match nodes.iter_mut().find(|(known, _)| known == node) {
                Some((_, ranks)) => ranks.push(*rank),
                None => nodes.push((*node, vec![*rank])),
            }
        }
        nodes.into_iter().map(|(_, ranks)| ranks).collect()
    }

    /// The distinct rings, and how many channels repeat them.
    fn rings(&self, seen: &BTreeMap<(Graph, Edge), u32>) -> Option<(Vec<Vec<u32>>, u32)> {
        let plain = self.distinct_rings(false)?;
        if let Some(count) = channel_count(&plain, seen) {
            return Some((plain, count));
        }
        // If NICs may be crossed, every other node uses its neighbour channel's path.
        let crossed = self.distinct_rings(true);
        if let Some((crossed, count)) =
            crossed.and_then(|rings| channel_count(&rings, seen).map(|count| (rings, count)))
        {
            return Some((crossed, count));
        }
        // NCCL doubles the channels it found.
        let doubled = (plain.len() as u32 * 2).min(CHANNEL_LIMIT);
        Some((plain, doubled))
    }

    /// From each node's ring exit to the next node's ring entry.
    fn distinct_rings(&self, crosses_nics: bool) -> Option<Vec<Vec<u32>>> {
        if !self.is_complete() {
            return None;
        }
        let nodes = self.nodes();
        let count = self.channel_count(|rank| rank.ring_channels);
        if count == 0 || crosses_nics && !count.is_multiple_of(2) {
            return None;
        }
        let way = |node: usize, channel: usize| {
            if crosses_nics { channel ^ (node & 1) } else { channel }
        };
        (0..count).map(|channel| self.ring(&nodes, |node| way(node, channel))).collect()
    }

    fn ring(&self, nodes: &[Vec<u32>], channel_of: impl Fn(usize) -> usize) -> Option<Vec<u32>> {
        let mut ring = Vec::with_capacity(self.nranks as usize);
        for (number, ranks) in nodes.iter().enumerate() {
            let channel = channel_of(number);
            let of = |rank: u32| -> Option<&ChannelTopology> {
                self.ranks.get(&rank)?.channels.get(channel)
            };
            let entry = of(*ranks.first()?)?.ring_receive?;
            let mut rank = entry;
            for _ in ranks {
                if !ranks.contains(&rank) {
                    return None;
                }
                ring.push(rank);
                match of(rank)?.ring_next {
                    Some(next) if next != entry && ranks.contains(&next) => rank = next,
                    _ => break,
                }
            }
        }
        let mut all = ring.clone();
        all.sort_unstable();
        let is_whole = all.iter().copied().eq(0..self.nranks);
        if !is_whole {
            return None;
        }
        let start = ring.iter().position(|rank| *rank == 0).unwrap_or(0);
        ring.rotate_left(start);
        Some(ring)
    }

    /// The trees, if every node has one rank: the gathers do not show trees inside a node.
    fn distinct_trees(&self, rings: usize) -> Option<Vec<Vec<TreeNode>>> {
        let nodes = self.nodes();
        let count = self.channel_count(|rank| rank.tree_channels);
        if count != rings || nodes.iter().any(|ranks| ranks.len() != 1) {
            return None;
        }
        let first = double_tree(self.nranks, false);
        let second = double_tree(self.nranks, true);
        let mut trees = vec![first; count];
        trees.resize(count * 2, second);
        Some(trees)
    }
}

/// The number of channels: the distinct rings, repeated until every captured edge has the right
/// number of connections. `None` if no number fits, or no edge was captured.
fn channel_count(rings: &[Vec<u32>], seen: &BTreeMap<(Graph, Edge), u32>) -> Option<u32> {
    let has = |ring: &[u32], edge: &Edge| {
        let after = ring.iter().cycle().skip(1);
        ring.iter().zip(after).any(|(from, to)| *from == edge.sender && *to == edge.receiver)
    };
    let connections = |edge: &Edge, count: u32| {
        (0..count).filter(|channel| has(&rings[*channel as usize % rings.len()], edge)).count()
    };
    let edges: Vec<(&Edge, usize)> = seen
        .iter()
        .filter(|((graph, _), _)| *graph == Graph::Ring)
        .map(|((_, edge), count)| (edge, *count as usize))
        .collect();
    let fits = |count: &u32| edges.iter().all(|(edge, seen)| connections(edge, *count) == *seen);
    (1..=CHANNEL_LIMIT).filter(|_| !edges.is_empty()).find(fits)
}

/// One of the two trees that together keep every link busy in both directions: leaves of one are
/// inner nodes of the other. The second is the first mirrored (even ranks) or shifted by one (odd).
fn double_tree(nranks: u32, is_second: bool) -> Vec<TreeNode> {
    let place_of = |rank: u32| match (is_second, nranks % 2) {
        (false, _) => rank,
        (true, 0) => nranks - 1 - rank,
        (true, _) => (rank + nranks - 1) % nranks,
    };
    let rank_at = |place: u32| match (is_second, nranks % 2) {
        (false, _) => place,
        (true, 0) => nranks - 1 - place,
        (true, _) => (place + 1) % nranks,
    };
    (0..nranks)
        .map(|rank| {
            let place = place_of(rank);
            let up = parent(nranks, place).map(rank_at);
            let down = children(nranks, place).into_iter().map(rank_at).collect();
            TreeNode { rank, up, down }
        })
        .collect()
}

/// The parent of `place` in the binary tree formed by the low bits: 0 is the root, odd places are
/// leaves.
fn parent(count: u32, place: u32) -> Option<u32> {
    if place == 0 {
        return None;
    }
    let bit = 1 << place.trailing_zeros();
    let above = (place ^ bit) | (bit << 1);
    Some(if above < count { above } else { place ^ bit })
}

fn children(count: u32, place: u32) -> Vec<u32> {
    if place == 0 {
        return if count > 1 { vec![count.next_power_of_two() / 2] } else { Vec::new() };
    }
    let mut reach = (1 << place.trailing_zeros()) >> 1;
    let mut found = Vec::new();
    if reach > 0 {
        found.push(place - reach);
    }
    while reach > 0 && place + reach >= count {
        reach >>= 1;
    }
    if reach > 0 {
        found.push(place + reach);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nranks: u32, is_second: bool) -> Vec<(Option<u32>, Vec<u32>)> {
        double_tree(nranks, is_second).into_iter().map(|node| (node.up, node.down)).collect()
    }

    /// As NCCL 2.27.5 prints them for four nodes: `Trees [0] 2/-1/-1->0->-1 [1] -1/-1/-1->0->1`.
    #[test]
    fn trees_of_four_nodes() {
        let first =
            vec![(None, vec![2]), (Some(2), vec![]), (Some(0), vec![1, 3]), (Some(2), vec![])];
        let second =
            vec![(Some(1), vec![]), (Some(3), vec![2, 0]), (Some(1), vec![]), (None, vec![1])];
        assert_eq!((tree(4, false), tree(4, true)), (first, second));
    }

    #[test]
    fn every_child_knows_its_parent() {
        for nranks in 1..200 {
            for is_second in [false, true] {
                let nodes = double_tree(nranks, is_second);
                assert_eq!(nodes.iter().filter(|node| node.up.is_none()).count(), 1);
                for node in &nodes {
                    for child in &node.down {
                        assert_eq!(nodes[*child as usize].up, Some(node.rank), "{nranks}");
                    }
                }
                let edges: usize = nodes.iter().map(|node| node.down.len()).sum();
                assert_eq!(edges, nranks as usize - 1);
            }
        }
    }
}
