//! The latest calls of a process, and what its communicators are called in others.

use super::{CollectiveWaits, CommunicatorWaits, ProcessRecords};
use crate::decode::profiler;

/// Calls that are looked at, the latest ones.
const CALLS: usize = 4096;

/// Times of a monotonic clock that make sense, in nanoseconds: four years. Others are invented, and sums of
/// them would overflow.
pub(super) const LATEST_NS: u64 = 1 << 57;

/// The latest calls of a process.
pub(super) fn latest(
    process: &ProcessRecords,
) -> impl Iterator<Item = (&CollectiveWaits, profiler::Collective)> {
    let is_sane = |called: &profiler::Collective| called.time_ns < LATEST_NS;
    let called = move |waits: &CollectiveWaits| waits.called.filter(is_sane);
    let latest = process.collectives.values().rev().take(CALLS);
    latest.filter_map(move |waits| Some((waits, called(waits)?)))
}

/// Communicators of a process by their numbers, each with its hash.
pub(super) fn hashes(process: &ProcessRecords) -> impl Iterator<Item = (u32, u64)> {
    let hash = |waits: &CommunicatorWaits| waits.of.as_ref()?.hash;
    process.communicators.iter().filter_map(move |(number, waits)| Some((*number, hash(waits)?)))
}
