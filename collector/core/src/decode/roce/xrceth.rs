//! The XRC extended transport header: 4 bytes (IBTA volume 1, annex A14).
//!
//! ```text
//! byte 0         1..3
//!      reserved  XRCSRQ
//! ```

/// Bytes of the header.
pub const LEN: usize = 4;

#[doc(alias = "XRCETH")]
/// An XRC extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xrceth {
    /// The shared receive queue that the packet goes to, 24 bits.
    pub xrc_srq: u32,
}

impl Xrceth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[_, s0, s1, s2] = bytes;
        Self { xrc_srq: u32::from_be_bytes([0, s0, s1, s2]) }
    }
}
