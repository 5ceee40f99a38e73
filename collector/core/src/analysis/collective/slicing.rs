//! The forward model of one chunk: which messages NCCL cuts it into (NCCL `src/device/prims_*.h`,
//! `src/enqueue.cc`, `src/transport/net.cc`).

use crate::model::nccl::Protocol;

/// Bytes that a CTS offers under LL and LL128, with NCCL's default buffers.
pub const LL_CAPACITY: u64 = 65_536;
/// See [`LL_CAPACITY`].
pub const LL128_CAPACITY: u64 = 614_400;
/// Bytes that a CTS of a ring collective offers under Simple, with NCCL's default buffers.
pub const SIMPLE_RING_CAPACITY: u64 = 1 << 20;

/// Bytes of data in an LL line, half of whose bytes are flags (`prims_ll.h`).
pub const LL_LINE_DATA: u64 = 8;
/// Bytes of an LL line on the wire.
const LL_LINE_WIRE: u64 = 16;
/// Bytes of data that LL128 sends together: 16 lines of 120 bytes (`prims_ll128.h`).
pub const LL128_UNIT_DATA: u64 = 1920;
/// The same on the wire: 16 lines of 128 bytes.
const LL128_UNIT_WIRE: u64 = 2048;

/// Sizes of an element, in bytes: slices are rounded to 16 elements, whose size is not on the
/// wire.
const ELEMENT_SIZES: [u64; 4] = [1, 2, 4, 8];

/// How chunks become messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// The protocol that cuts chunks.
    pub protocol: Protocol,
    /// Bytes on the wire that fit into one message.
    pub capacity: u64,
    /// Messages of a chunk.
    pub per_chunk: usize,
    /// Bytes of data in a full chunk.
    pub full: u64,
}

/// Element sizes with which NCCL would send the observed slices; bits 0 to 3 stand for 1, 2, 4 and 8
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementSizes(pub u8);

impl ElementSizes {
    /// Every size.
    pub const ANY: Self = Self(0b1111);

    /// Only those that `other` has, too.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// No size is left.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// One byte is possible: AllGather and Broadcast always count in bytes.
    #[must_use]
    pub const fn has_byte(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Slicing {
    /// For ring AllReduce, AllGather and ReduceScatter: chunks of four steps in two slices with
    /// Simple, of one step with LL and LL128.
    #[must_use]
    pub const fn ring(protocol: Protocol, capacity: u64) -> Self {
        let per_chunk = if matches!(protocol, Protocol::Simple) { 2 } else { 1 };
        let full = Self::data_of(protocol, capacity) * per_chunk as u64;
        Self { protocol, capacity, per_chunk, full }
    }

    /// For trees and chains (Broadcast and Reduce over the ring): one message per chunk.
    #[must_use]
    pub const fn stream(protocol: Protocol, capacity: u64) -> Self {
        let full = Self::data_of(protocol, capacity);
        Self { protocol, capacity, per_chunk: 1, full }
    }

    /// Bytes on the wire of a message that carries `data` bytes.
    #[must_use]
    pub const fn wire(&self, data: u64) -> u64 {
        match self.protocol {
            Protocol::Ll => data.div_ceil(LL_LINE_DATA) * LL_LINE_WIRE,
            Protocol::Ll128 => data.div_ceil(LL128_UNIT_DATA) * LL128_UNIT_WIRE,
            Protocol::Simple | Protocol::Unknown => data,
        }
    }

    /// Bytes of data in a message of `wire` bytes: exactly under Simple, else with the padding.
    #[must_use]
    pub const fn data(&self, wire: u64) -> u64 {
        Self::data_of(self.protocol, wire)
    }

    const fn data_of(protocol: Protocol, wire: u64) -> u64 {
        match protocol {
            Protocol::Ll => wire / 2,
            Protocol::Ll128 => wire / LL128_UNIT_WIRE * LL128_UNIT_DATA,
            Protocol::Simple | Protocol::Unknown => wire,
        }
    }

    /// Largest padding of a chunk, in bytes.
    #[must_use]
    pub const fn padding(&self) -> u64 {
        match self.protocol {
            Protocol::Ll => LL_LINE_DATA - 1,
            Protocol::Ll128 => LL128_UNIT_DATA - 1,
            Protocol::Simple | Protocol::Unknown => 0,
        }
    }

    /// Bytes on the wire of the two messages of a chunk of `data` bytes in elements of `element`
    /// bytes; the second is 0 if a chunk is one message.
    #[must_use]
    pub fn messages(&self, data: u64, element: u64) -> [u64; 2] {
        if self.per_chunk == 1 {
            return [self.wire(data), 0];
        }
        // `prims_simple.h`: max(divUp(nelem, 16 * SlicePerChunk) * 16, sliceSize / 32).
        let rounded = data.div_ceil(element * 32) * 16 * element;
        let slice = rounded.max(self.capacity / 32).min(data);
        [slice, (data - slice).min(slice)]
    }

    /// Element sizes for which a chunk is sent as messages of these sizes on the wire; the second is 0
    /// if a chunk is one message.
    #[must_use]
    pub fn elements_of_wire(&self, messages: [u64; 2]) -> ElementSizes {
        if self.per_chunk == 1 {
            return ElementSizes::ANY;
        }
        let data = messages[0] + messages[1];
        let mut sizes = 0;
        for (bit, element) in ELEMENT_SIZES.into_iter().enumerate() {
            if data.is_multiple_of(element) && self.messages(data, element) == messages {
                sizes |= 1 << bit;
            }
        }
        ElementSizes(sizes)
    }
}
