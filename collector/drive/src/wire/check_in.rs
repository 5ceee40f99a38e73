//! What a rank sends to the root: `struct extInfo` (NCCL `src/bootstrap.cc`).
//!
//! | | 2.21.5, 64 bytes | 2.27.7, 172 bytes |
//! |---|---|---|
//! | rank, ranks | 0, 4 | 0, 4 |
//! | root's number, number of roots | | 8, 12 |
//! | address for the root's answer | 8 | 16 |
//! | address for the predecessor | 36 | 44 |

use std::net::SocketAddr;

use super::Parsed;
use super::image::{Fields, Image};
use crate::release::Release;

/// A rank's check-in with the only root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckIn {
    /// Rank in the communicator.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Where it expects the root's answer.
    pub root_listener: SocketAddr,
    /// Where it expects the previous rank on the ring.
    pub ring_listener: SocketAddr,
}

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    match release {
        Release::V2_21_5 => 64,
        Release::V2_27_7 => 172,
    }
}

/// Offsets of the two addresses.
const fn places(release: Release) -> (usize, usize) {
    match release {
        Release::V2_21_5 => (8, 36),
        Release::V2_27_7 => (16, 44),
    }
}

impl CheckIn {
    /// The bytes that a rank sends.
    #[must_use]
    pub fn encode(&self, release: Release) -> Vec<u8> {
        let (root, ring) = places(release);
        let image = Image::new(len(release)).u32(0, self.rank).u32(4, self.ranks);
        let image = image.address(root, self.root_listener).address(ring, self.ring_listener);
        match release {
            Release::V2_21_5 => image.into_bytes(),
            Release::V2_27_7 => image.u32(12, 1).into_bytes(),
        }
    }

    /// # Errors
    /// A rank beyond the number of ranks, invalid addresses, or more than one root.
    pub fn parse(bytes: &[u8], release: Release) -> Parsed<Self> {
        let fields = Fields::new(bytes, len(release), "a check-in")?;
        let (rank, ranks) = (fields.u32(0), fields.u32(4));
        if rank >= ranks {
            return Err(format!("a check-in of rank {rank} of {ranks}"));
        }
        if release == Release::V2_27_7 && (fields.u32(8), fields.u32(12)) != (0, 1) {
            return Err(format!("a check-in with {} roots; the driver has one", fields.u32(12)));
        }
        let (root, ring) = places(release);
        let (Some(root_listener), Some(ring_listener)) =
            (fields.address(root), fields.address(ring))
        else {
            return Err("a check-in without addresses".to_owned());
        };
        Ok(Self { rank, ranks, root_listener, ring_listener })
    }
}
