//! Losses that hold up a rank although all data arrives in time: of the last ACK of a collective, and of
//! clear-to-sends.
//!
//! Some senders leave a collective only when all that they sent is acknowledged, so they come late to the
//! next one. A clear-to-send that is lost and sent again makes the sender of data wait for room.

use std::collections::BTreeMap;

use super::Case;
use super::network::{self, Baseline};
use crate::analysis::wait::edge::EdgeWaits;
use crate::model::spread::{lower_median, lower_median_of_others};

/// By rank, how much later than the median of the others it sent its first data because it waited for the
/// last ACK of the collective `before`, in nanoseconds.
#[must_use]
pub fn last_acks(case: &Case<'_>, before: &Case<'_>, baseline: &Baseline) -> BTreeMap<u32, u64> {
    let mut longest: BTreeMap<u32, u64> = BTreeMap::new();
    let tails =
        before.waits.edges.iter().filter(|edge| edge.tail_recovery_ns > 0 && edge.is_at_sender);
    for edge in tails {
        let sender = case.job.connection(edge.connection).and_then(|one| one.sender);
        let first = sender.and_then(|rank| case.waits.of_rank(rank)?.first_send);
        let is_over = first.is_some_and(|first| edge.span.last < first);
        let Some(rank) = sender.filter(|_| is_over) else { continue };
        // The rest held up data in the collective itself.
        let rest_ns = edge.recovery_ns.saturating_sub(network::held_up_ns(before, baseline, edge));
        let longest = longest.entry(rank).or_default();
        *longest = edge.tail_recovery_ns.min(rest_ns).max(*longest);
    }
    if longest.is_empty() {
        return longest;
    }
    // Ranks compute while ACKs are missing.
    let mut busy: Vec<u64> = case.waits.ranks.iter().filter_map(|one| one.busy_ns).collect();
    busy.sort_unstable();
    for (rank, ns) in &mut longest {
        let own_ns = case.waits.of_rank(*rank).and_then(|one| one.busy_ns);
        let later_ns = own_ns
            .and_then(|own_ns| Some(own_ns.saturating_sub(lower_median_of_others(&busy, own_ns)?)));
        *ns = later_ns.unwrap_or(0).min(*ns);
    }
    longest
}

/// By rank, how long data to it waited for clear-to-sends that were lost on the way from it, in nanoseconds.
#[must_use]
pub fn clear_to_sends(case: &Case<'_>) -> BTreeMap<u32, u64> {
    let start_ns = |edge: &EdgeWaits| edge.without_cts_ns + edge.start_wait_ns.unwrap_or(0);
    let is_lossy = |edge: &&EdgeWaits| edge.first_cts_recovery_ns + edge.cts_recovery_ns > 0;
    let mut lossy = case.waits.edges.iter().filter(is_lossy).peekable();
    let mut longest: BTreeMap<u32, u64> = BTreeMap::new();
    if lossy.peek().is_none() {
        return longest;
    }
    // Ranks compute while clear-to-sends are missing.
    let usual_ns = lower_median(case.waits.edges.iter().map(start_ns)).unwrap_or(0);
    for edge in lossy {
        let receiver = case.job.connection(edge.connection).and_then(|one| one.receiver);
        let Some(receiver) = receiver else { continue };
        let late_ns = start_ns(edge).saturating_sub(usual_ns);
        let lost_ns = edge.first_cts_recovery_ns.min(late_ns) + edge.cts_recovery_ns;
        let longest = longest.entry(receiver).or_default();
        *longest = lost_ns.max(*longest);
    }
    longest
}
