//! Immediate data and the invalidated key: 4 bytes each (IBTA volume 1, sections 9.3.6 and 9.3.7).

/// Bytes of either header.
pub const LEN: usize = 4;

#[doc(alias = "infiniband.immdt")]
/// Immediate data (ImmDt), as a number in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate(pub u32);

#[doc(alias = "infiniband.ieth")]
/// The invalidate extended transport header (IETH): the `R_Key` that the receiver gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ieth {
    /// The key to invalidate.
    pub remote_key: u32,
}

impl Immediate {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        Self(u32::from_be_bytes(*bytes))
    }
}

impl Ieth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        Self { remote_key: u32::from_be_bytes(*bytes) }
    }
}
