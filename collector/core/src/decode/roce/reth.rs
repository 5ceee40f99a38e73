//! The RDMA extended transport header: 16 bytes (IBTA volume 1, section 9.3.3).
//!
//! ```text
//! byte 0..7             8..11  12..15
//!      virtual address  R_Key  DMA length
//! ```

/// Bytes of the header.
pub const LEN: usize = 16;

#[doc(alias = "infiniband.reth")]
/// An RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address in the responder's memory.
    #[doc(alias = "infiniband.reth.va")]
    pub virtual_address: u64,
    /// The key that allows access to that memory (`R_Key`).
    #[doc(alias = "infiniband.reth.r_key")]
    pub remote_key: u32,
    /// Bytes of the whole message.
    #[doc(alias = "infiniband.reth.dmalen")]
    pub dma_len: u32,
}

impl Reth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[a0, a1, a2, a3, a4, a5, a6, a7, k0, k1, k2, k3, l0, l1, l2, l3] = bytes;
        Self {
            virtual_address: u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            remote_key: u32::from_be_bytes([k0, k1, k2, k3]),
            dma_len: u32::from_be_bytes([l0, l1, l2, l3]),
        }
    }
}
