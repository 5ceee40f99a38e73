//! How long a sender took no data because an ACK was missing.
//!
//! A rank forwards what it receives. The room of a chunk that it forwarded is free when that send is
//! acknowledged; until then it offers its own receive buffers late (NCCL `net.cc`, `proxy.cc`: the
//! step of a send is done when its completion is polled). So a lost ACK holds up the rank before,
//! although all data had arrived.

use super::trouble::Recoveries;
use crate::link::job::Transfer;
use crate::model::time::Timestamp;

/// Nanoseconds in which `received`, the messages of one collective to the sender of a connection,
/// waited for a buffer while that connection was in one of `recoveries`. All times are those of the
/// tap next to that sender.
#[must_use]
pub fn blocked_ns(received: &[Transfer], mut recoveries: Recoveries<'_>) -> u64 {
    let window = window(received);
    if window == 0 {
        return 0;
    }
    let refills = received.iter().zip(received.iter().skip(window));
    let mut blocked_ns = 0;
    let mut counted = Timestamp::EPOCH;
    for (before, next) in refills {
        let (Some(taken), Some(offered)) = (end(before), posted(next)) else { continue };
        let from = taken.max(counted);
        if offered > from {
            blocked_ns += recoveries.until(from, offered);
            counted = offered;
        }
    }
    blocked_ns
}

/// Clear-to-sends outstanding before the first message ends.
fn window(received: &[Transfer]) -> usize {
    let Some(first) = received.first().and_then(end) else { return 0 };
    let is_early = |one: &&Transfer| posted(one).is_some_and(|posted| posted <= first);
    received.iter().take_while(is_early).count()
}

fn end(transfer: &Transfer) -> Option<Timestamp> {
    Some(transfer.received?.last)
}

fn posted(transfer: &Transfer) -> Option<Timestamp> {
    transfer.cts?.posted
}
