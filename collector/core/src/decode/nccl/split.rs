//! Each rank's request in a split of its communicator, gathered over the parent's ring (NCCL
//! `commGetSplitInfo` of `src/init.cc`). Up to 2.22 colours and keys are gathered separately, 4
//! bytes each; since 2.23 together.

use super::structure::Structure;

/// Size of a gathered element up to 2.22: a colour, or a key.
pub const SPLIT_4: usize = 4;
/// Size of a gathered element since 2.23.
pub const SPLIT_8: usize = 8;

/// Key and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitElement {
    /// Orders the ranks of a child.
    pub key: i32,
    /// Ranks of one colour form a child; negative colours join none.
    pub color: i32,
}

impl SplitElement {
    /// Parses an element of 2.23 or later.
    #[must_use]
    pub fn decode(bytes: &[u8; SPLIT_8]) -> Option<Self> {
        let structure = Structure(bytes);
        Some(Self { key: structure.i32(0)?, color: structure.i32(4)? })
    }
}

/// Parses a colour or a key of 2.22 or before.
#[must_use]
pub fn color_or_key(bytes: &[u8; SPLIT_4]) -> i32 {
    i32::from_le_bytes(*bytes)
}
