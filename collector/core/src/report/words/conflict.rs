//! Contradictory statements in words. Text output reads `conflict: sender is rank 1, but rank 2 in
//! 4 clear-to-sends`.

use super::number::counted;

/// The sender according to the control plane.
#[must_use]
pub fn sender(rank: u32) -> String {
    format!("rank {rank}")
}

/// The sender according to the tags of `count` clear-to-sends.
#[must_use]
pub fn tagged(rank: u32, count: u64) -> String {
    format!("rank {rank} in {}", counted(count, "clear-to-send"))
}

/// The statement of a log.
#[must_use]
pub fn logged(statement: &str) -> String {
    format!("{statement} in an NCCL log")
}
