//! A message from one rank to another (`bootstrapSend` of NCCL `src/bootstrap.cc`): sender, tag,
//! and for the set-up of transports (`ncclTransportP2pSetup` of `src/transport.cc`) one entry per
//! connection.

use super::structure::Structure;
use crate::model::nccl::Graph;

/// Sizes of a message's parts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMessageLayout {
    /// First frame: the rank alone (then the tag follows in a frame of its own), or rank and tag.
    pub preamble_len: usize,
    /// An entry of the transport set-up (`struct ncclConnect`).
    pub entry_len: usize,
}

/// Up to 2.22.
pub const PEER_MESSAGE_128: PeerMessageLayout =
    PeerMessageLayout { preamble_len: 4, entry_len: 128 };
/// 2.23 and later.
pub const PEER_MESSAGE_256: PeerMessageLayout =
    PeerMessageLayout { preamble_len: 8, entry_len: 256 };

/// Rank and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// The sending rank.
    pub rank: u32,
    /// The subject.
    pub tag: u32,
}

impl Preamble {
    /// Parses the preamble, without the frames' lengths.
    #[must_use]
    pub fn decode(bytes: &[u8; 8]) -> Option<Self> {
        let structure = Structure(bytes);
        Some(Self { rank: structure.count(0)?, tag: structure.u32(4)? })
    }
}

/// A transport set-up, from its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupTag {
    /// Distance in ranks from the sender of data to its receiver.
    pub distance: u32,
    /// The graph that the connections belong to.
    pub graph: Graph,
    /// Whether it closes the set-up and carries no entries.
    pub is_closing: bool,
}

impl SetupTag {
    /// Parses a tag; `None` if it is not one of a set-up.
    #[must_use]
    pub const fn decode(tag: u32) -> Option<Self> {
        let graph = match tag & 0x7f {
            0 => Graph::PointToPoint,
            1 => Graph::Ring,
            2 => Graph::Tree,
            3 | 5 => Graph::CollNet,
            4 => Graph::Nvls,
            _ => return None,
        };
        let distance = tag >> 8;
        // Higher tags are reserved for other uses: a split has 1 << 29, a grow 1 << 27.
        if distance == 0 || distance >= 1 << 19 {
            return None;
        }
        Some(Self { distance, graph, is_closing: tag & 0x80 != 0 })
    }
}
