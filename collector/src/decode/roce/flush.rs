//! The flush extended transport header: 4 bytes (IBTA volume 1 release 1.5, annex A19).

/// Bytes of the header.
pub const LEN: usize = 4;

/// A flush extended transport header (FETH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feth {
    /// Placement type, 4 bits: bit 0 global visibility, bit 1 persistence.
    pub placement_type: u8,
    /// Selectivity level, 2 bits: 0 memory range, 1 memory region.
    pub selectivity_level: u8,
}
