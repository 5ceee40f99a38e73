//! The XRC extended transport header: 4 bytes (IBTA volume 1, annex A14).

/// Bytes of the header.
pub const LEN: usize = 4;

/// An XRC extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xrceth {
    /// The shared receive queue that the packet goes to, 24 bits.
    pub xrc_srq: u32,
}
