//! A rank's message to the root: who it is and where it listens (`struct extInfo`, NCCL
//! `src/bootstrap.cc`).

use crate::model::nccl::RANK_LIMIT;
use std::net::SocketAddr;

use super::structure::Structure;

/// Offsets of the fields, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckInLayout {
    /// Size.
    pub len: usize,
    /// `iroot`, followed by `nroots`, if there can be several roots.
    pub root: Option<usize>,
    /// Address of the listener for the root.
    pub root_listener: usize,
    /// Address of the listener for the previous rank; since 2.23 a union with a NET handle.
    pub ring_listener: usize,
}

/// 2.10 to 2.22.
pub const CHECK_IN_64: CheckInLayout =
    CheckInLayout { len: 64, root: None, root_listener: 8, ring_listener: 36 };
/// 2.23 to 2.28.
pub const CHECK_IN_172: CheckInLayout =
    CheckInLayout { len: 172, root: Some(8), root_listener: 16, ring_listener: 44 };
/// 2.29 and later.
pub const CHECK_IN_176: CheckInLayout =
    CheckInLayout { len: 176, root: Some(8), root_listener: 20, ring_listener: 48 };

/// A rank's first message to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckIn {
    /// Rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// Which of several roots it is sent to, from 0.
    pub root_index: u32,
    /// Number of roots.
    pub root_count: u32,
    /// Where the rank expects the root's reply.
    pub root_listener: SocketAddr,
    /// Where the rank expects the previous rank; `None` if the ring does not use TCP.
    pub ring_listener: Option<SocketAddr>,
}

impl CheckIn {
    /// Parses a complete message; `None` if it is invalid.
    #[must_use]
    pub fn decode(bytes: &[u8], layout: &CheckInLayout) -> Option<Self> {
        let structure = Structure(bytes);
        let (rank, nranks) = (structure.count(0)?, structure.count(4)?);
        let (root_index, root_count) = match layout.root {
            Some(at) => (structure.count(at)?, structure.count(at.checked_add(4)?)?),
            None => (0, 1),
        };
        let makes_sense = bytes.len() == layout.len
            && rank < nranks
            && nranks <= RANK_LIMIT
            && root_index < root_count;
        makes_sense.then_some(Self {
            rank,
            nranks,
            root_index,
            root_count,
            root_listener: structure.socket_address(layout.root_listener)?,
            ring_listener: structure.socket_address(layout.ring_listener),
        })
    }
}
