//! Clear-to-send: what a receiver writes into the sender's queue when it has a buffer, `struct
//! ncclIbSendFifo` of 64 bytes (NCCL `src/transport/net_ib.cc`).
//!
//! | | 2.21.5 | 2.27.7 |
//! |---|---|---|
//! | address of the buffer | 0 | 0 |
//! | its size | 8, 4 bytes | 8, 8 bytes |
//! | its keys, one per device | 12 | 16 |
//! | receives in the group | 20 | 32 |
//! | tag: the sender's rank | 24 | 36 |
//! | number of the receive, from 1 | 32 | 40 |

use super::Parsed;
use super::image::{Fields, Image};
use crate::release::Release;

/// Size in bytes.
pub const BYTES: usize = 64;

/// Distance between slots of the queue in bytes: a group of 8 fits.
pub const SLOT_BYTES: u64 = 512;

/// Slots of the queue: `MAX_REQUESTS`.
pub const SLOTS: u64 = 256;

/// A clear-to-send for one receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cts {
    /// Address of the buffer.
    pub address: u64,
    /// Size of the buffer in bytes; NCCL's data types hold 31 bits.
    pub size: u32,
    /// Key of the buffer on the first device.
    pub rkey: u32,
    /// The sender's rank.
    pub tag: u32,
    /// Number of the receive, from 1.
    pub index: u64,
}

struct Layout {
    rkeys: usize,
    receives: usize,
    tag: usize,
    index: usize,
}

const fn layout(release: Release) -> Layout {
    match release {
        Release::V2_21_5 => Layout { rkeys: 12, receives: 20, tag: 24, index: 32 },
        Release::V2_27_7 => Layout { rkeys: 16, receives: 32, tag: 36, index: 40 },
    }
}

impl Cts {
    /// Its offset in the queue, in bytes.
    #[must_use]
    pub const fn offset(index: u64) -> u64 {
        index.wrapping_sub(1) % SLOTS * SLOT_BYTES
    }

    /// The bytes that are written.
    #[must_use]
    pub fn encode(&self, release: Release) -> [u8; BYTES] {
        let layout = layout(release);
        let image = Image::new(BYTES).u64(0, self.address).u32(8, self.size);
        let image = image.u32(layout.rkeys, self.rkey).u32(layout.receives, 1);
        let image = image.u32(layout.tag, self.tag).u64(layout.index, self.index);
        image.into_bytes().try_into().unwrap_or([0; BYTES])
    }

    /// # Errors
    /// Another length, a group, or an impossible size.
    pub fn parse(bytes: &[u8], release: Release) -> Parsed<Self> {
        let layout = layout(release);
        let fields = Fields::new(bytes, BYTES, "a clear-to-send")?;
        if fields.u32(layout.receives) != 1 {
            let receives = fields.u32(layout.receives);
            return Err(format!("a clear-to-send for {receives} receives; the driver groups none"));
        }
        if release == Release::V2_27_7 && fields.u32(12) != 0 {
            return Err("a clear-to-send for more than 4 GiB".to_owned());
        }
        Ok(Self {
            address: fields.u64(0),
            size: fields.u32(8),
            rkey: fields.u32(layout.rkeys),
            tag: fields.u32(layout.tag),
            index: fields.u64(layout.index),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_round() {
        assert_eq!([1, 2, 256, 257].map(Cts::offset), [0, 512, 255 * 512, 0]);
    }

    #[test]
    fn it_comes_back() {
        let cts = Cts { address: 1 << 40, size: 1 << 20, rkey: 7, tag: 3, index: 9 };
        for release in Release::ALL {
            assert_eq!(Cts::parse(&cts.encode(release), release), Ok(cts));
        }
    }
}
