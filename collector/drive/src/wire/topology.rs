//! What every rank found out about its node's part of rings and trees, in AllGather3: `struct
//! allGatherInfo` (NCCL `src/init.cc`) with `struct ncclTopoRanks` (`src/include/graph.h`).
//!
//! Graphs of 32 bytes by algorithm from 0 on (6 in 2.21.5, 7 in 2.27.7): pattern at 0, channels at 4,
//! sameChannels at 8, bandwidth inside and between nodes at 12 and 16 (GB/s, `float`), kinds of path
//! at 20 and 24, crossNic at 28. Behind them arrays of 32 (2.21.5) or 64 ranks: ringRecv, ringSend,
//! ringPrev, ringNext, treeToParent, treeToChild0, treeToChild1, nvlsHeads; nvlsHeadNum; in 2.27.7
//! CPU architecture, CPU vendor and localRanks. Every rank computes rings and trees from the gather:
//! NCCL doubles the channels, so that two channels gather one.

use super::Parsed;
use super::image::{Fields, Image};
use crate::release::Release;

const GRAPH_BYTES: usize = 32;
const ARRAYS: usize = 8;

/// One rank's entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Per algorithm: tree, ring, CollNet direct, CollNet chain, NVLS, NVLS tree, PAT.
    pub graphs: Vec<Graph>,
    /// Per channel, before doubling.
    pub channels: Vec<Channel>,
    /// `NCCL_TOPO_CPU_ARCH_*`, `NCCL_TOPO_CPU_VENDOR_*`, in 2.27.7.
    pub cpu: [u32; 2],
}

/// `graphInfo`: what the search for rings or trees found on the node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Graph {
    /// `NCCL_TOPO_PATTERN_*`
    pub pattern: u32,
    /// 0 if there is no such graph.
    pub channels: u32,
    /// Whether GPUs are in the same order on every channel.
    pub same_channels: u32,
    /// Bandwidth inside the node, GB/s per channel.
    pub bandwidth_intra: f32,
    /// Bandwidth between nodes, GB/s per channel.
    pub bandwidth_inter: f32,
    /// `PATH_*` between GPUs.
    pub type_intra: u32,
    /// `PATH_*` between GPU and NIC.
    pub type_inter: u32,
    /// `NCCL_CROSS_NIC`
    pub cross_nic: u32,
}

/// The ranks of one channel's ring and tree on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Where the ring enters and leaves the node.
    pub ring_ends: [i32; 2],
    /// Neighbours inside the node; -1 if there are none.
    pub ring_neighbours: [i32; 2],
    /// Where the tree leaves for the parent node and both child nodes.
    pub tree_ends: [i32; 3],
}

impl Channel {
    /// In the order of the arrays.
    const fn in_order(&self) -> [i32; 7] {
        let ([enter, leave], [before, after]) = (self.ring_ends, self.ring_neighbours);
        let [parent, first_child, second_child] = self.tree_ends;
        [enter, leave, before, after, parent, first_child, second_child]
    }
}

struct Layout {
    len: usize,
    graphs: usize,
    slots: usize,
}

const fn layout(release: Release) -> Layout {
    match release {
        Release::V2_21_5 => Layout { len: 1220, graphs: 6, slots: 32 },
        Release::V2_27_7 => Layout { len: 2288, graphs: 7, slots: 64 },
    }
}

impl Layout {
    /// Offset of `channel` in `array`.
    const fn place(&self, array: usize, channel: usize) -> usize {
        self.graphs * GRAPH_BYTES + (array * self.slots + channel) * 4
    }

    const fn cpu(&self) -> usize {
        self.place(ARRAYS, 1)
    }
}

/// `NCCL_TOPO_PATTERN_*` of the graphs, in order.
const fn patterns(release: Release) -> &'static [u32] {
    match release {
        Release::V2_21_5 => &[3, 4, 3, 3, 5, 5],
        Release::V2_27_7 => &[3, 4, 6, 3, 5, 5, 3],
    }
}

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    layout(release).len
}

impl Topology {
    /// The result for a node with one GPU and one NIC of 10 Gbit/s behind the CPU, in a job of
    /// `channels` rings: a tree, a ring and (2.27.7) PAT.
    #[must_use]
    pub fn of_single_gpu(rank: u32, channels: u32, release: Release) -> Self {
        let rank = rank.cast_signed();
        let found = channels.div_ceil(2);
        // PATH_PHB.
        let type_inter = match release {
            Release::V2_21_5 => 6,
            Release::V2_27_7 => 8,
        };
        let graph = |(index, pattern): (usize, &u32)| {
            let found = Graph {
                pattern: *pattern,
                channels: found,
                same_channels: 1,
                bandwidth_intra: 2.4,
                bandwidth_inter: 1.2,
                type_intra: 0,
                type_inter,
                cross_nic: 0,
            };
            match index {
                0 | 6 => found,
                1 => Graph { bandwidth_intra: 1.2, ..found },
                _ => Graph { pattern: *pattern, ..Graph::default() },
            }
        };
        let channel =
            Channel { ring_ends: [rank; 2], ring_neighbours: [-1; 2], tree_ends: [rank; 3] };
        Self {
            graphs: patterns(release).iter().enumerate().map(graph).collect(),
            channels: vec![channel; found as usize],
            cpu: if release == Release::V2_27_7 { [1, 2] } else { [0; 2] },
        }
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn encode(&self, release: Release) -> Vec<u8> {
        let layout = layout(release);
        let mut image = Image::new(layout.len);
        for (index, graph) in self.graphs.iter().take(layout.graphs).enumerate() {
            let at = index * GRAPH_BYTES;
            image = image.u32(at, graph.pattern).u32(at + 4, graph.channels);
            image = image.u32(at + 8, graph.same_channels).f32(at + 12, graph.bandwidth_intra);
            image = image.f32(at + 16, graph.bandwidth_inter).u32(at + 20, graph.type_intra);
            image = image.u32(at + 24, graph.type_inter).u32(at + 28, graph.cross_nic);
        }
        for (channel, ranks) in self.channels.iter().take(layout.slots).enumerate() {
            for (array, rank) in ranks.in_order().into_iter().enumerate() {
                image = image.i32(layout.place(array, channel), rank);
            }
        }
        if release == Release::V2_27_7 {
            let [architecture, vendor] = self.cpu;
            image = image.u32(layout.cpu(), architecture).u32(layout.cpu() + 4, vendor);
        }
        image.into_bytes()
    }

    /// # Errors
    /// Another length, or more channels than there is room for.
    pub fn parse(bytes: &[u8], release: Release) -> Parsed<Self> {
        let layout = layout(release);
        let fields = Fields::new(bytes, layout.len, "AllGather3")?;
        let graph = |index: usize| {
            let at = index * GRAPH_BYTES;
            Graph {
                pattern: fields.u32(at),
                channels: fields.u32(at + 4),
                same_channels: fields.u32(at + 8),
                bandwidth_intra: fields.f32(at + 12),
                bandwidth_inter: fields.f32(at + 16),
                type_intra: fields.u32(at + 20),
                type_inter: fields.u32(at + 24),
                cross_nic: fields.u32(at + 28),
            }
        };
        let graphs: Vec<Graph> = (0..layout.graphs).map(graph).collect();
        let found = graphs.iter().map(|graph| graph.channels).max().unwrap_or(0) as usize;
        if found > layout.slots {
            return Err(format!("AllGather3 with {found} channels; {} are possible", layout.slots));
        }
        let channel = |channel: usize| {
            let rank = |array: usize| fields.i32(layout.place(array, channel));
            Channel {
                ring_ends: [rank(0), rank(1)],
                ring_neighbours: [rank(2), rank(3)],
                tree_ends: [rank(4), rank(5), rank(6)],
            }
        };
        let cpu = match release {
            Release::V2_21_5 => [0; 2],
            Release::V2_27_7 => [fields.u32(layout.cpu()), fields.u32(layout.cpu() + 4)],
        };
        Ok(Self { graphs, channels: (0..found).map(channel).collect(), cpu })
    }
}
