//! Each rank's view of its node's part of the rings and trees (`AllGather3`: `struct allGatherInfo`
//! of NCCL `src/init.cc`, with `struct ncclTopoRanks` of `src/include/graph.h`).

use super::structure::Structure;

/// Offsets of the fields, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyLayout {
    /// Size.
    pub len: usize,
    /// `graphInfo` of the tree.
    pub tree: usize,
    /// `graphInfo` of the ring.
    pub ring: usize,
    /// `crossNic` of the ring (2.21 and later).
    pub cross_nic: Option<usize>,
    /// The first array of `topoRanks`: `ringRecv`. The others follow without a gap.
    pub ranks: usize,
    /// Elements of an array: the most channels.
    pub channels: usize,
}

impl TopologyLayout {
    /// 2.18 and later: `graphInfo`s by algorithm, `tree` first, equally spaced.
    const fn new(len: usize, graph_len: usize, ranks: usize, channels: usize) -> Self {
        let has_cross_nic = graph_len > CROSS_NIC;
        let cross_nic = if has_cross_nic { graph_len.checked_add(CROSS_NIC) } else { None };
        Self { len, tree: 0, ring: graph_len, cross_nic, ranks, channels }
    }
}

/// 2.12 to 2.17.
pub const TOPOLOGY_988: TopologyLayout =
    TopologyLayout { len: 988, tree: 8, ring: 36, cross_nic: None, ranks: 92, channels: 32 };
/// 2.18 and 2.19.
pub const TOPOLOGY_1192: TopologyLayout = TopologyLayout::new(1192, 28, 168, 32);
/// 2.20.
pub const TOPOLOGY_1196: TopologyLayout = TopologyLayout::new(1196, 28, 168, 32);
/// 2.21.
pub const TOPOLOGY_1220: TopologyLayout = TopologyLayout::new(1220, 32, 192, 32);
/// 2.22.
pub const TOPOLOGY_1228: TopologyLayout = TopologyLayout::new(1228, 32, 192, 32);
/// 2.23 and 2.24.
pub const TOPOLOGY_1260: TopologyLayout = TopologyLayout::new(1260, 32, 224, 32);
/// 2.25 and 2.26.
pub const TOPOLOGY_2284: TopologyLayout = TopologyLayout::new(2284, 32, 224, 64);
/// 2.27.
pub const TOPOLOGY_2288: TopologyLayout = TopologyLayout::new(2288, 32, 224, 64);
/// 2.28, where the arrays follow a number.
pub const TOPOLOGY_2292: TopologyLayout = TopologyLayout::new(2292, 32, 228, 64);
/// 2.29.
pub const TOPOLOGY_2300: TopologyLayout = TopologyLayout::new(2300, 32, 228, 64);
/// 2.30.
pub const TOPOLOGY_2320: TopologyLayout = TopologyLayout::new(2320, 32, 228, 64);
/// 2.31 and 2.32.
pub const TOPOLOGY_2324: TopologyLayout = TopologyLayout::new(2324, 32, 228, 64);

/// `nChannels` in `struct graphInfo`.
pub const CHANNEL_COUNT: usize = 4;
/// `crossNic` in `struct graphInfo`, where that is longer.
pub const CROSS_NIC: usize = 28;

/// `crossNic` where the NIC changes on every other node.
const ALTERNATING: u32 = 2;

/// The arrays of `struct ncclTopoRanks` in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyArray {
    /// `ringRecv`: the rank where the ring enters the node.
    RingReceive = 0,
    /// `ringSend`: the rank where the ring leaves the node.
    RingSend = 1,
    /// `ringPrev`: the previous rank inside the node.
    RingPrevious = 2,
    /// `ringNext`: the next rank inside the node.
    RingNext = 3,
    /// `treeToParent`: the rank where the tree's edge to the parent node starts.
    TreeToParent = 4,
    /// `treeToChild0`: the rank where the tree's edge to the first child node starts.
    TreeToChild0 = 5,
    /// `treeToChild1`: the rank where the tree's edge to the second child node starts.
    TreeToChild1 = 6,
}

/// One rank's element.
#[derive(Clone, Copy, Debug)]
pub struct Topology<'a> {
    structure: Structure<'a>,
    layout: &'a TopologyLayout,
    /// Channels of the ring graph, before NCCL doubles them.
    pub ring_channels: u32,
    /// Channels of the tree graph, before NCCL doubles them.
    pub tree_channels: u32,
    /// Whether rings leave a node through another NIC than they enter it, on alternate nodes.
    pub crosses_nics: bool,
}

impl<'a> Topology<'a> {
    /// Parses a complete element; `None` if it is invalid.
    #[must_use]
    pub fn decode(bytes: &'a [u8], layout: &'a TopologyLayout) -> Option<Self> {
        let structure = Structure(bytes);
        let channels = |graph: usize| {
            let count = structure.count(graph.checked_add(CHANNEL_COUNT)?)?;
            (count as usize <= layout.channels).then_some(count)
        };
        let (ring_channels, tree_channels) = (channels(layout.ring)?, channels(layout.tree)?);
        let cross_nic = layout.cross_nic.and_then(|at| structure.u32(at));
        let is_whole = bytes.len() == layout.len;
        is_whole.then_some(Self {
            structure,
            layout,
            ring_channels,
            tree_channels,
            crosses_nics: cross_nic == Some(ALTERNATING),
        })
    }

    /// The rank in `array` for `channel`; `None` if it is unset.
    #[must_use]
    pub fn rank(&self, array: TopologyArray, channel: usize) -> Option<u32> {
        if channel >= self.layout.channels {
            return None;
        }
        let place = (array as usize).checked_mul(self.layout.channels)?.checked_add(channel)?;
        self.structure.count(self.layout.ranks.checked_add(place.checked_mul(4)?)?)
    }
}
