//! Which ranks reduce together, and which share a node.

/// The communicators of a job, and its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Ranks of each communicator that reduces the buckets, in the order of its own ranks. Each bucket is
    /// reduced in one after the other. If it is empty, the communicator of all ranks does.
    pub communicators: Vec<Vec<u32>>,
    /// Ranks of a node, as a profiler plugin hears of it: those of one node exchange data without proxies.
    /// `None` if each rank is a node.
    pub ranks_per_node: Option<u32>,
}

impl Layout {
    /// The node of a rank, from 0.
    #[must_use]
    pub fn node(&self, rank: u32) -> u32 {
        rank / self.ranks_per_node.unwrap_or(1).max(1)
    }

    /// The nodes of these ranks.
    #[must_use]
    pub fn nodes(&self, ranks: impl IntoIterator<Item = u32>) -> Vec<u32> {
        ranks.into_iter().map(|rank| self.node(rank)).collect()
    }
}
