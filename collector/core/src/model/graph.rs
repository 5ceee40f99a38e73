//! Graphs that NCCL searched, as it dumps them: which channels there are, over which GPUs and NICs.

/// All graphs of a communicator, as seen from one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graphs {
    /// The graphs, in the order of the dump.
    pub graphs: Vec<Graph>,
}

/// A graph: the channels for one pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Its number: 0 is the ring, 1 the tree, then CollNet and NVLS.
    pub id: u32,
    /// What it is for (`NCCL_TOPO_PATTERN_*`), if that is known.
    pub pattern: Option<&'static str>,
    /// Worst path between GPUs of the node, as NCCL calls it: `NVL`, `PIX`, `SYS`.
    pub type_intra: Option<String>,
    /// Worst path from a GPU to a NIC.
    pub type_inter: Option<String>,
    /// Speed of a channel within the node, 10^6 bytes per second.
    pub speed_intra: Option<u64>,
    /// Speed of a channel to other nodes, 10^6 bytes per second.
    pub speed_inter: Option<u64>,
    /// Channels, each with the numbers of its NICs and GPUs.
    pub channels: Vec<GraphChannel>,
}

/// A channel on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphChannel {
    /// Numbers of its NICs (`net dev`).
    pub nets: Vec<u32>,
    /// Numbers of its GPUs (`gpu dev`), in the order of the channel.
    pub gpus: Vec<u32>,
}
