//! The reliable datagram extended transport header: 4 bytes (IBTA volume 1, section 9.3.1).

/// Bytes of the header.
pub const LEN: usize = 4;

/// A reliable datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdeth {
    /// End-to-end context, 24 bits.
    pub ee_context: u32,
}
