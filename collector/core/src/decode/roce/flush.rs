//! The flush extended transport header: 4 bytes (IBTA volume 1 release 1.5, annex A19;
//! Linux `drivers/infiniband/sw/rxe/rxe_hdr.h`).
//!
//! ```text
//! byte 0..2      3
//!      reserved  reserved(2)|selectivity level(2)|placement type(4)
//! ```

/// Bytes of the header.
pub const LEN: usize = 4;

#[doc(alias = "FETH")]
/// A flush extended transport header (FETH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feth {
    /// Placement type, 4 bits: bit 0 global visibility, bit 1 persistence.
    pub placement_type: u8,
    /// Selectivity level, 2 bits: 0 memory range, 1 memory region.
    pub selectivity_level: u8,
}

impl Feth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[_, _, _, flags] = bytes;
        Self { placement_type: flags & 0x0f, selectivity_level: (flags >> 4) & 0x03 }
    }
}
