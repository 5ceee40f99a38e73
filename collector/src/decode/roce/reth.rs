//! The RDMA extended transport header: 16 bytes (IBTA volume 1, section 9.3.3).

/// Bytes of the header.
pub const LEN: usize = 16;

/// An RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address in the responder's memory.
    pub virtual_address: u64,
    /// The key that allows access to that memory (R_Key).
    pub remote_key: u32,
    /// Bytes of the whole message.
    pub dma_len: u32,
}
