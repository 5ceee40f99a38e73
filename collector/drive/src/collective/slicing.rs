//! The messages of a chunk in the Simple protocol.
//!
//! A connection's buffer has eight slots. A chunk is cut into slices; a slice is one message and
//! takes as many slots as its largest size needs.
//!
//! Sources: NCCL `src/include/collectives.h` (`*_CHUNKSTEPS`, `*_SLICESTEPS`),
//! `src/device/prims_simple.h` (`genericOp`), the same in 2.21.5 and 2.27.7.

use std::ops::Range;

use super::Kind;

/// Bytes of a connection's buffer: `NCCL_BUFFSIZE` by default.
pub const BUFFER_BYTES: usize = 4 << 20;

/// Slots of a connection's buffer: `NCCL_STEPS`.
pub const SLOTS: u64 = 8;

/// Bytes of one slot: 512 KiB.
pub const SLOT_BYTES: usize = BUFFER_BYTES / SLOTS as usize;

/// How chunks are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// Messages per chunk, empty ones included.
    pub slices: u32,
    /// Slots per message.
    pub slots: u64,
}

impl Slicing {
    /// How chunks of this kind of collective are cut.
    #[must_use]
    pub const fn for_kind(kind: Kind) -> Self {
        match kind {
            Kind::AllReduce | Kind::AllGather | Kind::ReduceScatter => Self { slices: 2, slots: 2 },
            Kind::Broadcast => Self { slices: 1, slots: 1 },
        }
    }

    /// Largest message, in bytes: the size of a buffer offer.
    #[must_use]
    pub const fn capacity(self) -> usize {
        self.slots as usize * SLOT_BYTES
    }

    /// Largest chunk, in bytes.
    #[must_use]
    pub const fn chunk_bytes(self) -> usize {
        self.slices as usize * self.capacity()
    }

    /// Slots per chunk; a collective starts at a multiple of it.
    #[must_use]
    pub const fn chunk_slots(self) -> u64 {
        self.slices as u64 * self.slots
    }

    /// The bytes of a chunk in message number `slice`; later ones may be empty.
    #[must_use]
    pub fn message(self, bytes: usize, unit_bytes: usize, slice: u32) -> Range<usize> {
        let units = bytes / unit_bytes;
        let even = units.div_ceil(16 * self.slices as usize) * 16;
        let least = SLOT_BYTES / unit_bytes * self.slots as usize / 32;
        let size = even.max(least) * unit_bytes;
        let begin = (slice as usize * size).min(bytes);
        begin..(begin + size).min(bytes)
    }

    /// Bytes of all messages of a chunk.
    pub fn messages(self, bytes: usize, unit_bytes: usize) -> impl Iterator<Item = usize> {
        (0..self.slices).map(move |slice| self.message(bytes, unit_bytes, slice).len())
    }
}
