//! The reliable datagram extended transport header: 4 bytes (IBTA volume 1, section 9.3.1).
//!
//! ```text
//! byte 0         1..3
//!      reserved  EE context
//! ```

/// Bytes of the header.
pub const LEN: usize = 4;

#[doc(alias = "infiniband.rdeth")]
/// A reliable datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdeth {
    /// End-to-end context, 24 bits.
    #[doc(alias = "infiniband.rdeth.eecnxt")]
    pub ee_context: u32,
}

impl Rdeth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[_, c0, c1, c2] = bytes;
        Self { ee_context: u32::from_be_bytes([0, c0, c1, c2]) }
    }
}
