//! Which release has which layout.

use crate::model::nccl::Release;

/// Releases from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseRange {
    /// The first.
    pub first: Release,
    /// The last.
    pub last: Release,
}
