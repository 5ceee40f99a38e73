//! The median rank.

use std::collections::BTreeMap;

/// The median; with an even number of values, the lower of the middle two.
pub(super) fn lower_median(values: &BTreeMap<u32, i64>) -> Option<i64> {
    let mut sorted: Vec<i64> = values.values().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}
