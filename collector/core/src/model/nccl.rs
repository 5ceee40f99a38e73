//! NCCL's terms: releases, unique ids, algorithms, protocols.

use std::fmt;

/// A NCCL release as its version code (`NCCL_VERSION_CODE`): major * 10000 + minor * 100 + patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(u32);

impl Release {
    /// A release from its numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major * 10_000 + minor * 100 + patch)
    }

    /// A release from its code; `None` for a number that is not a code of NCCL 2.9 or later (2.8
    /// and before encoded it differently).
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        match code {
            20_900..100_000 => Some(Self(code)),
            _ => None,
        }
    }

    /// The version code.
    #[must_use]
    pub const fn code(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0 / 10_000, self.0 / 100 % 100, self.0 % 100)
    }
}

/// Largest plausible number of ranks, far beyond the largest clusters.
pub const RANK_LIMIT: u32 = 1 << 20;

/// `ncclUniqueId`: what the ranks of a communicator share before they are connected (NCCL
/// `src/nccl.h.in`). Its first bytes are the root's magic and address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueId(pub [u8; 128]);

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UniqueId({:02x?}..)", &self.0[..36])
    }
}

/// Purpose of a communicator's connections (`graph.id` of NCCL's transport set-up).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Graph {
    /// Ring; trees reuse its connections between the same ranks on the same channel.
    Ring,
    /// Double binary tree.
    Tree,
    /// CollNet chain or direct.
    CollNet,
    /// NVLink SHARP, between nodes.
    Nvls,
    /// `ncclSend` and `ncclRecv`, which need no graph.
    PointToPoint,
    /// The bootstrap's own ring, if it runs over the network plugin (`NCCL_OOB_NET_ENABLE`).
    Bootstrap,
}

/// The algorithm of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Around a ring of all ranks.
    Ring,
    /// Up and down two binary trees.
    Tree,
    /// Unknown, or none (point to point).
    #[default]
    Unknown,
}

/// How NCCL's kernels synchronise with its proxies (NCCL `src/include/device.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Large slices behind a fence: bandwidth.
    Simple,
    /// 4 bytes of data and a 4-byte flag: latency, at twice the bytes.
    Ll,
    /// 120 bytes of data and an 8-byte flag.
    Ll128,
    /// Not known.
    #[default]
    Unknown,
}

/// What a collective computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveKind {
    /// `ncclAllReduce`.
    AllReduce,
    /// `ncclAllGather`.
    AllGather,
    /// `ncclReduceScatter`.
    ReduceScatter,
    /// `ncclBroadcast`.
    Broadcast,
    /// `ncclReduce`.
    Reduce,
    /// `ncclAlltoAll`, or sends and receives equivalent to one.
    AllToAll,
    /// `ncclSend` and `ncclRecv`.
    SendRecv,
    /// Not known.
    #[default]
    Unknown,
}

impl Algorithm {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::Unknown => "unknown",
        }
    }
}

impl Protocol {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Ll => "ll",
            Self::Ll128 => "ll128",
            Self::Unknown => "unknown",
        }
    }
}

impl CollectiveKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all_to_all",
            Self::SendRecv => "send_recv",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_its_code() {
        let release = Release::new(2, 27, 5);
        assert_eq!((release.code(), release.to_string()), (22_705, "2.27.5".to_owned()));
        assert_eq!(Release::from_code(22_705), Some(release));
        assert_eq!(Release::from_code(2_708), None);
    }
}
