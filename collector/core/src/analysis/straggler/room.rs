//! What waiting for room at a rank cost a collective.
//!
//! A rank that takes data slowly, and a port that is paused or slow, hold up the connections to them: data
//! leaves late because there is no buffer for it, and is long on its way. That holds up the ranks before, so
//! data to those waits, too: what a rank waited for room itself is subtracted.

use std::collections::BTreeMap;

use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::edge::EdgeWaits;
use crate::link::job::Job;
use crate::model::spread::{lower_median, lower_median_of_others};

/// What the connections to one rank took. They wait at the same time, so the longest counts.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Until the first data, as far as that is usual or there was no buffer; then without a buffer or on
    /// the way. At taps next to the senders.
    whole_ns: Option<u64>,
    /// The part without a buffer, after the first data, at any tap.
    room_ns: u64,
}

/// By rank, how much longer the connections to it took than those to the middle one of the other ranks, in
/// nanoseconds. With nothing to compare with, only the time without a buffer.
#[must_use]
pub fn costs(job: &Job, waits: &CollectiveWaits) -> BTreeMap<u32, u64> {
    let measured = || waits.edges.iter().filter(|edge| is_measured(edge));
    let usual_start_ns = lower_median(measured().map(start_ns)).unwrap_or(0);
    let usual_room_ns = lower_median(measured().map(|edge| edge.without_cts_ns)).unwrap_or(0);
    // A sender that is late by itself had a buffer.
    let held_start_ns =
        |edge: &EdgeWaits| start_ns(edge).min(usual_start_ns.max(edge.without_cts_ns));
    let (mut held, mut waited) = (BTreeMap::<u32, Held>::new(), BTreeMap::<u32, u64>::new());
    for edge in &waits.edges {
        let Some(connection) = job.connection(edge.connection) else { continue };
        if let Some(rank) = connection.receiver {
            let one = held.entry(rank).or_default();
            one.room_ns = edge.receiver_wait_ns.max(one.room_ns);
            if is_measured(edge) {
                let whole_ns = held_start_ns(edge) + edge.receiver_wait_ns + edge.transfer_ns;
                one.whole_ns = one.whole_ns.max(Some(whole_ns));
            }
        }
        if let Some(rank) = connection.sender {
            let longest = waited.entry(rank).or_default();
            let start_ns = edge.without_cts_ns.saturating_sub(usual_room_ns);
            *longest = (start_ns + edge.receiver_wait_ns).max(*longest);
        }
    }
    let mut sorted: Vec<u64> = held.values().filter_map(|one| one.whole_ns).collect();
    sorted.sort_unstable();
    let cost = |(rank, one): (u32, Held)| {
        let compared = one
            .whole_ns
            .and_then(|ns| Some(ns.saturating_sub(lower_median_of_others(&sorted, ns)?)));
        let waited_ns = waited.get(&rank).copied().unwrap_or(0);
        (rank, compared.unwrap_or(one.room_ns).saturating_sub(waited_ns))
    };
    held.into_iter().map(cost).collect()
}

/// A tap next to the sender saw when it left the previous collective.
const fn is_measured(edge: &EdgeWaits) -> bool {
    edge.is_at_sender && edge.has_predecessor
}

/// From when the sender left the previous collective to its first data.
fn start_ns(edge: &EdgeWaits) -> u64 {
    edge.without_cts_ns + edge.start_wait_ns.unwrap_or(0)
}
