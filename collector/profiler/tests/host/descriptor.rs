//! Descriptors of events, written at the offsets of NCCL's headers.
//!
//! The numbers stand here a second time: the library has them in its structures.

use std::ffi::CStr;

/// A descriptor of any version. What is not written is not zero, as in NCCL's shims.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Descriptor {
    pub(crate) bytes: [u8; 192],
}

impl Descriptor {
    /// The head: type, parent, rank.
    pub(crate) fn new(version: u8, kind: u64, parent: usize, rank: i32) -> Self {
        let mut new = Self { bytes: [0xa5; 192] };
        if version <= 4 {
            new.put(0, &[u8::try_from(kind).unwrap()]);
        } else {
            new.put(0, &kind.to_ne_bytes());
        }
        new.put(8, &parent.to_ne_bytes());
        new.put(16, &rank.to_ne_bytes());
        new
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

    /// An AllReduce of 1,024 floats with two channels, ring, Simple.
    pub(crate) fn all_reduce(version: u8, parent: usize, rank: i32, sequence: u64) -> Self {
        let new = Self::new(version, 2, parent, rank);
        match version {
            1 => new
                .long(32, 0xabc)
                .long(40, sequence)
                .byte(48, 4)
                .long(72, 1024)
                .int(80, 0)
                .byte(84, 7)
                .byte(104, 2)
                .byte(106, 1)
                .byte(107, 2),
            2 | 3 => {
                let at = if version == 2 { 104 } else { 96 };
                new.long(32, 0xabc)
                    .long(40, sequence)
                    .text(48, c"AllReduce")
                    .long(72, 1024)
                    .int(80, 0)
                    .text(88, c"ncclFloat32")
                    .byte(at, 2)
                    .text(at + 8, c"RING")
                    .text(at + 16, c"SIMPLE")
            }
            _ => {
                let new = new
                    .long(24, sequence)
                    .text(32, c"AllReduce")
                    .long(56, 1024)
                    .int(64, 0)
                    .text(72, c"ncclFloat32")
                    .byte(80, 2)
                    .text(88, c"RING")
                    .text(96, c"SIMPLE");
                let new = if version >= 5 { new.long(104, 0) } else { new };
                if version >= 7 { new.long(128, 4812) } else { new }
            }
        }
    }

    /// A send of 77 bytes to a peer.
    pub(crate) fn send(version: u8, parent: usize, rank: i32, peer: i32) -> Self {
        let new = Self::new(version, 4, parent, rank);
        match version {
            1 => new.long(32, 0xabc).byte(40, 6).byte(56, 0).long(64, 77).int(72, peer),
            2 | 3 => new
                .long(32, 0xabc)
                .text(40, c"Send")
                .text(56, c"ncclInt8")
                .long(64, 77)
                .int(72, peer),
            _ => {
                let new = new.text(24, c"Send").text(40, c"ncclInt8").long(48, 77).int(56, peer);
                let new = if version >= 5 { new.long(64, 0) } else { new };
                if version >= 7 { new.long(72, 4813) } else { new }
            }
        }
    }

    /// An operation of a proxy on channel 3, of this process.
    pub(crate) fn operation(version: u8, parent: usize, peer: i32, is_send: bool) -> Self {
        let pid = i32::try_from(std::process::id()).unwrap();
        Self::operation_of(version, parent, peer, is_send, pid)
    }

    /// An operation of a proxy that works for any process.
    pub(crate) fn operation_of(
        version: u8,
        parent: usize,
        peer: i32,
        is_send: bool,
        pid: i32,
    ) -> Self {
        Self::new(version, 8, parent, 1)
            .int(24, pid)
            .byte(28, 3)
            .int(32, peer)
            .int(36, 4)
            .int(40, 65_536)
            .int(44, i32::from(is_send))
    }

    /// A transfer of an operation.
    pub(crate) fn transfer(version: u8, parent: usize, number: i32) -> Self {
        Self::new(version, 16, parent, 1).int(24, number)
    }

    /// A kernel on a channel, since version 3; the GPU's timer is there since version 4.
    pub(crate) fn kernel(version: u8, parent: usize, channel: u8, timer: u64) -> Self {
        let new = Self::new(version, 64, parent, 0).byte(24, channel);
        if version >= 4 { new.long(32, timer) } else { new }
    }

    /// Where the group is named, since version 5.
    pub(crate) fn in_group(self, group: usize) -> Self {
        self.long(104, group as u64)
    }
}
