//! The parts of sends that one connection carries.
//!
//! NCCL divides a send's bytes among channels. On each, the part is sent in chunks, all alike but the
//! last (`src/enqueue.cc`, `addP2pToPlan`). Up to 2.28 a clear-to-send offers a chunk, or the whole
//! part if that is less; since 2.29 always the largest chunk, of which a send's chunks are all, half
//! or a quarter.
//!
//! The connections of a channel share its slots of memory: the chunks of a part go to every n-th
//! slot, n being the connections in use, and start again at the first one of them
//! (`src/transport/net.cc`, `recvProxyProgress`). So memory tells parts apart where sizes do not.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::assemble;
use super::super::lane::{Lane, Message};
use super::super::thresholds::LEAST_CHUNK;
use crate::model::time::{Span, Timestamp};

/// Slots of a channel (NCCL `NCCL_SHARED_STEPS`), and most of them that one part uses
/// (`NCCL_STEPS`).
const SLOTS: u64 = 16;
const MOST_SLOTS: u64 = 8;

/// The part of a send that one connection carries.
#[derive(Clone, Debug)]
pub(super) struct SendPart {
    /// Place of the connection's lane.
    pub(super) lane: usize,
    /// Its messages on the lane.
    pub(super) range: Range<usize>,
    /// Bytes; `None` if a message is missing.
    pub(super) bytes: Option<u64>,
    /// When its receiver asked for it.
    pub(super) asked: Timestamp,
    /// From the first packet to the last.
    pub(super) span: Span,
}

impl SendPart {
    /// From when the receiver asked to the last packet.
    pub(super) fn window(&self) -> Span {
        Span { first: self.asked, last: self.span.last }
    }
}

/// The parts that the lane at `place` carried.
pub(super) fn parts(lane: &Lane, place: usize) -> Vec<SendPart> {
    let starts = proven_starts(lane);
    let mut found = Vec::new();
    let mut from = 0;
    for at in 1..=lane.messages.len() {
        let part = lane.messages.get(from..at).unwrap_or(&[]);
        if lane.message(at).is_some_and(|next| goes_on(part, next, &starts)) {
            continue;
        }
        found.extend(send_part(lane, place, from..at, &starts));
        from = at;
    }
    found
}

fn send_part(
    lane: &Lane,
    place: usize,
    range: Range<usize>,
    starts: &BTreeSet<u64>,
) -> Option<SendPart> {
    let messages = lane.messages.get(range.clone())?;
    let first = messages.first()?;
    let before = range.start.checked_sub(1).and_then(|at| lane.message(at));
    let follows = match before {
        Some(before) => before.number + 1 == first.number,
        None => lane.is_from_start,
    };
    let begins = follows || first.address.is_some_and(|address| starts.contains(&address));
    let is_cut = range.end == lane.messages.len() && lane.is_unanswered && is_open(messages);
    let bytes = messages.iter().map(|message| message.bytes).sum();
    // Missing messages happened between their neighbours.
    let span = assemble::span(messages.iter()).or_else(|| {
        let first = before.and_then(|before| before.last)?;
        Some(Span { first, last: first })
    })?;
    let asked = first.offered.map_or(span.first, |offered| offered.min(span.first));
    let bytes = if begins && !is_cut { bytes } else { None };
    Some(SendPart { lane: place, range, bytes, asked, span })
}

/// Slots with which parts begin for certain: after a message that can only have been a part's last.
fn proven_starts(lane: &Lane) -> BTreeSet<u64> {
    let first = lane.messages.first().filter(|_| lane.is_from_start);
    let after_last = lane.messages.windows(2).filter_map(|pair| match pair {
        [before, next] => {
            let is_next = before.number + 1 == next.number;
            let is_short = before
                .bytes
                .zip(before.capacity)
                .is_some_and(|(bytes, _)| !is_chunk(bytes, before));
            (is_next && is_short).then_some(next)
        }
        _ => None,
    });
    first.into_iter().chain(after_last).filter_map(|message| message.address).collect()
}

/// Whether `next` may continue the part that `part` begins.
fn goes_on(part: &[Message], next: &Message, starts: &BTreeSet<u64>) -> bool {
    let [first, .., last] = part else {
        let [first] = part else { return false };
        return goes_on_from(first, first, part, next, starts);
    };
    goes_on_from(first, last, part, next, starts)
}

fn goes_on_from(
    first: &Message,
    last: &Message,
    part: &[Message],
    next: &Message,
    starts: &BTreeSet<u64>,
) -> bool {
    let is_other =
        |one: Option<u64>, other| one.zip(other).is_some_and(|(one, other)| one != other);
    if last.number + 1 != next.number || is_other(first.capacity, next.capacity) {
        return false;
    }
    let Some(chunk) = first.bytes else {
        // Its beginning is missing: only memory shows where the next part begins.
        return next.address.is_none_or(|address| !starts.contains(&address));
    };
    let is_more = next.bytes.is_some_and(|bytes| bytes > chunk || bytes == 0);
    if !is_chunk(chunk, first) || is_other(last.bytes, Some(chunk)) || is_more {
        return false;
    }
    let by_memory = follows_in_memory(part, next, chunk);
    by_memory.unwrap_or_else(|| {
        let is_tail = next.bytes.is_some_and(|bytes| bytes < chunk);
        chunk >= LEAST_CHUNK && (is_tail || next.is_fenced != Some(true))
    })
}

/// Whether a message of `bytes` may be followed by others of its part.
fn is_chunk(bytes: u64, message: &Message) -> bool {
    let of_offer = |offer: u64| [offer, offer / 2, offer / 4].contains(&bytes);
    bytes.is_power_of_two() && message.capacity.is_none_or(of_offer)
}

/// Whether more messages of the part may follow.
fn is_open(part: &[Message]) -> bool {
    let [first, .., last] = part else {
        return part.iter().all(|only| only.bytes.is_none_or(|bytes| is_chunk(bytes, only)));
    };
    last.bytes == first.bytes
}

/// Whether `next` lies where the next chunk of `part` goes; `None` if addresses are missing.
fn follows_in_memory(part: &[Message], next: &Message, chunk: u64) -> Option<bool> {
    let first = part.first()?.address?;
    let (last, next_address) = (part.last()?.address?, next.address?);
    let Some(second) = part.get(1) else {
        let stride = next_address.checked_sub(first);
        return Some(stride.is_some_and(|stride| depths(stride, chunk).next().is_some()));
    };
    let stride = second.address?.checked_sub(first)?;
    if next_address != first {
        return Some(last.checked_add(stride) == Some(next_address));
    }
    let used = part.len() as u64;
    let is_wrap = depths(stride, chunk).any(|depth| used.is_multiple_of(depth));
    Some(is_wrap && next.is_fenced != Some(true))
}

/// Slots that a part may use which takes every slot at this distance: the distance is a number of
/// connections times the largest chunk, of which `chunk` is all, half or a quarter.
fn depths(stride: u64, chunk: u64) -> impl Iterator<Item = u64> {
    let slots = [1, 2, 4].map(|times| chunk.saturating_mul(times));
    slots.into_iter().filter_map(move |slot| {
        let connections = stride.checked_div(slot).filter(|_| stride.is_multiple_of(slot))?;
        (1..=MOST_SLOTS).contains(&connections).then(|| MOST_SLOTS.min(SLOTS / connections))
    })
}
