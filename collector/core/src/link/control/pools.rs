//! What many connections of bootstrap rings carry alike, each kept once: a rank passes on what it received, so the
//! same frame appears on every connection of its ring, and most connections are seen at two taps.

use std::sync::Arc;

use super::facts::{ChannelTopology, RingMember};
use super::pool::{Pool, Pooled, Shared};

/// A frame that several connections may keep.
pub(super) type SharedFrame = Arc<Shared<Box<[u8]>>>;

/// What connections have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    /// Frames that are not read yet.
    pub(super) frames: Pool<Box<[u8]>>,
    /// What was read from them.
    pub(super) members: Pool<RingMember>,
}

impl Pools {
    /// Drops the entries whose value nobody keeps.
    pub(super) fn sweep(&mut self) {
        self.frames.sweep();
        self.members.sweep();
    }

    /// Bytes of memory of all values that are kept.
    pub(super) fn kept(&self) -> usize {
        self.frames.kept() + self.members.kept()
    }
}

impl Pool<Box<[u8]>> {
    /// The frame with these bytes.
    pub(super) fn frame(&mut self, bytes: &[u8]) -> SharedFrame {
        self.share(bytes, || bytes.into())
    }
}

impl Pooled for Box<[u8]> {
    fn bytes_beyond(&self) -> usize {
        self.len()
    }
}

impl Pooled for RingMember {
    fn bytes_beyond(&self) -> usize {
        let channels = self.topology.as_ref().map_or(0, |topology| topology.channels.capacity());
        channels * size_of::<ChannelTopology>()
    }
}
