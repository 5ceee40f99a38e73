//! Descriptors of events, written at the offsets of NCCL's headers.
//!
//! Source: NCCL, `src/include/plugin/profiler/profiler_v1.h` to `profiler_v7.h`.

use std::ffi::CStr;

use crate::collective::{DataType, Kind};

/// Largest descriptor of any version: 136 bytes in version 7.
const BYTES: usize = 136;

/// Types of events, bits of the mask.
pub(super) mod event {
    pub(crate) const GROUP: u64 = 1;
    pub(crate) const COLL: u64 = 2;
    pub(crate) const PROXY_OP: u64 = 8;
    pub(crate) const PROXY_STEP: u64 = 16;
    pub(crate) const KERNEL_CH: u64 = 64;
}

/// A descriptor of one version. What an event does not use is 0.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Descriptor {
    bytes: [u8; BYTES],
}

/// A collective, as its descriptor has it.
pub(super) struct CollectiveFacts {
    pub(super) hash: u64,
    pub(super) sequence: u64,
    pub(super) kind: Kind,
    pub(super) data_type: DataType,
    pub(super) count: u64,
    pub(super) root: i32,
    pub(super) channels: u8,
    pub(super) tag: u64,
}

/// An operation of the proxy, as its descriptor has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationFacts {
    pub(super) channel: u8,
    pub(super) peer: i32,
    pub(super) transfers: i32,
    pub(super) bytes: i32,
    pub(super) is_send: bool,
}

impl Descriptor {
    /// The head: type, parent, rank.
    pub(super) fn new(version: u8, kind: u64, parent: usize, rank: i32) -> Self {
        let new = Self { bytes: [0; BYTES] };
        let new = if version <= 4 {
            new.byte(0, u8::try_from(kind).unwrap_or(0))
        } else {
            new.long(0, kind)
        };
        new.long(8, parent as u64).int(16, rank)
    }

    /// What `startEvent` gets.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// A collective over rings with the Simple protocol.
    pub(super) fn collective(
        version: u8,
        group: usize,
        rank: i32,
        facts: &CollectiveFacts,
    ) -> Self {
        // Since version 5 the parent is an event of the API, and the group has its own place.
        let parent = if version <= 4 { group } else { 0 };
        let new = Self::new(version, event::COLL, parent, rank);
        let &CollectiveFacts { hash, sequence, count, root, channels, tag, .. } = facts;
        let (function, data_type) = (function(facts.kind), type_name(facts.data_type));
        match version {
            // NCCL of that time has numbers here.
            1 => new
                .long(32, hash)
                .long(40, sequence)
                .byte(48, function_number(facts.kind))
                .long(72, count)
                .int(80, root)
                .byte(84, u8::try_from(facts.data_type.code()).unwrap_or(0))
                .byte(104, channels)
                .byte(106, 1)
                .byte(107, 2),
            2 | 3 => {
                let at = if version == 2 { 104 } else { 96 };
                new.long(32, hash)
                    .long(40, sequence)
                    .text(48, function)
                    .long(72, count)
                    .int(80, root)
                    .text(88, data_type)
                    .byte(at, channels)
                    .text(at + 8, c"RING")
                    .text(at + 16, c"SIMPLE")
            }
            _ => {
                let new = new
                    .long(24, sequence)
                    .text(32, function)
                    .long(56, count)
                    .int(64, root)
                    .text(72, data_type)
                    .byte(80, channels)
                    .text(88, c"RING")
                    .text(96, c"SIMPLE");
                let new = if version >= 5 { new.long(104, group as u64) } else { new };
                if version >= 7 { new.long(128, tag) } else { new }
            }
        }
    }

    /// An operation of this process's proxy.
    pub(super) fn operation(version: u8, parent: usize, rank: i32, facts: &OperationFacts) -> Self {
        Self::new(version, event::PROXY_OP, parent, rank)
            .int(24, i32::try_from(std::process::id()).unwrap_or(0))
            .byte(28, facts.channel)
            .int(32, facts.peer)
            .int(36, facts.transfers)
            .int(40, facts.bytes)
            .int(44, i32::from(facts.is_send))
    }

    /// A transfer of an operation.
    pub(super) fn transfer(version: u8, parent: usize, rank: i32, number: i32) -> Self {
        Self::new(version, event::PROXY_STEP, parent, rank).int(24, number)
    }

    /// A collective's kernel on a channel, which began at `timer` of its GPU. NCCL does not fill in the rank.
    pub(super) fn kernel(version: u8, parent: usize, channel: u8, timer: u64) -> Self {
        let new = Self::new(version, event::KERNEL_CH, parent, 0).byte(24, channel);
        if version >= 4 { new.long(32, timer) } else { new }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn byte(mut self, at: usize, value: u8) -> Self {
        self.put(at, &[value]);
        self
    }

    fn int(mut self, at: usize, value: i32) -> Self {
        self.put(at, &value.to_ne_bytes());
        self
    }

    fn long(mut self, at: usize, value: u64) -> Self {
        self.put(at, &value.to_ne_bytes());
        self
    }

    fn text(self, at: usize, value: &'static CStr) -> Self {
        self.long(at, value.as_ptr().expose_provenance() as u64)
    }
}

const fn function(kind: Kind) -> &'static CStr {
    match kind {
        Kind::AllReduce => c"AllReduce",
        Kind::AllGather => c"AllGather",
        Kind::ReduceScatter => c"ReduceScatter",
        Kind::Broadcast => c"Broadcast",
    }
}

/// `ncclFunc_t`.
const fn function_number(kind: Kind) -> u8 {
    match kind {
        Kind::Broadcast => 0,
        Kind::AllGather => 2,
        Kind::ReduceScatter => 3,
        Kind::AllReduce => 4,
    }
}

const fn type_name(data_type: DataType) -> &'static CStr {
    match data_type {
        DataType::Int32 => c"ncclInt32",
        DataType::Float32 => c"ncclFloat32",
        DataType::Float64 => c"ncclFloat64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(descriptor: &Descriptor, at: usize) -> u64 {
        u64::from_ne_bytes(descriptor.bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn places_are_those_of_the_headers() {
        let facts = CollectiveFacts {
            hash: 0xabc,
            sequence: 9,
            kind: Kind::AllGather,
            data_type: DataType::Float64,
            count: 77,
            root: 0,
            channels: 2,
            tag: 4812,
        };
        let seven = Descriptor::collective(7, 5, 1, &facts);
        assert_eq!([0, 24, 56, 104, 128].map(|at| long(&seven, at)), [2, 9, 77, 5, 4812]);
        assert_eq!((long(&seven, 8), seven.bytes[80]), (0, 2));
        let four = Descriptor::collective(4, 5, 1, &facts);
        assert_eq!((four.bytes[0], long(&four, 8), long(&four, 24)), (2, 5, 9));
        let three = Descriptor::collective(3, 5, 1, &facts);
        assert_eq!((long(&three, 32), long(&three, 40), three.bytes[96]), (0xabc, 9, 2));
        let operation =
            OperationFacts { channel: 3, peer: 2, transfers: 12, bytes: 65_536, is_send: true };
        let operation = Descriptor::operation(7, 6, 1, &operation);
        assert_eq!((long(&operation, 0), operation.bytes[28], operation.bytes[36]), (8, 3, 12));
    }
}
