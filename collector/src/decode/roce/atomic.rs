//! The atomic extended transport headers: request (28 bytes) and acknowledge (8 bytes); IBTA
//! volume 1, sections 9.3.4 and 9.5.

/// Bytes of the request header.
pub const LEN: usize = 28;
/// Bytes of the acknowledge header.
pub const ACK_LEN: usize = 8;

/// An AtomicETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEth {
    /// Virtual address in the responder's memory.
    pub virtual_address: u64,
    /// The key that allows access to that memory (R_Key).
    pub remote_key: u32,
    /// Value to swap in, or to add.
    pub swap_or_add: u64,
    /// Value to compare with; unused by fetch-and-add.
    pub compare: u64,
}

/// An AtomicAckETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAckEth {
    /// The value in memory before the operation.
    pub original_value: u64,
}
