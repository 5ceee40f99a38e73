//! The atomic extended transport headers: request (28 bytes) and acknowledge (8 bytes); IBTA
//! volume 1, sections 9.3.4 and 9.5.
//!
//! ```text
//! request      byte 0..7             8..11  12..19       20..27
//!                   virtual address  R_Key  swap or add  compare
//! acknowledge  byte 0..7
//!                   original value
//! ```

/// Bytes of the request header.
pub const LEN: usize = 28;
/// Bytes of the acknowledge header.
pub const ACK_LEN: usize = 8;

#[doc(alias = "infiniband.atomiceth")]
/// Address, key and operands of an atomic request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEth {
    /// Virtual address in the responder's memory.
    #[doc(alias = "infiniband.reth.va")]
    pub virtual_address: u64,
    /// The key that allows access to that memory (`R_Key`).
    #[doc(alias = "infiniband.reth.r_key")]
    pub remote_key: u32,
    /// Value to swap in, or to add.
    #[doc(alias = "infiniband.atomiceth.swapdt")]
    pub swap_or_add: u64,
    /// Value to compare with; unused by fetch-and-add.
    #[doc(alias = "infiniband.atomiceth.cmpdt")]
    pub compare: u64,
}

#[doc(alias = "infiniband.atomicacketh")]
/// What an atomic operation returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAckEth {
    /// The value in memory before the operation.
    #[doc(alias = "infiniband.atomicacketh.origremdt")]
    pub original_value: u64,
}

impl AtomicEth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        #[rustfmt::skip]
        let &[
            a0, a1, a2, a3, a4, a5, a6, a7, k0, k1, k2, k3,
            s0, s1, s2, s3, s4, s5, s6, s7, c0, c1, c2, c3, c4, c5, c6, c7,
        ] = bytes;
        Self {
            virtual_address: u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            remote_key: u32::from_be_bytes([k0, k1, k2, k3]),
            swap_or_add: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            compare: u64::from_be_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
        }
    }
}

impl AtomicAckEth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; ACK_LEN]) -> Self {
        Self { original_value: u64::from_be_bytes(*bytes) }
    }
}
