//! The sends between two ranks: which parts on their channels make one.

use std::collections::{BTreeMap, BTreeSet};

use super::super::thresholds::OPEN_SENDS;
use super::part::SendPart;
use crate::model::time::Span;

/// NCCL cuts a send at multiples of these (`src/include/device.h`, `ncclP2pPartBounds`; up to 2.21
/// `src/enqueue.cc`, `calcP2pChunkSize`, with the default chunk).
const GRAIN: u64 = 4096;
const GRAIN_UNTIL_2_21: u64 = 16_384;

/// A send from one rank to another.
#[derive(Clone, Debug)]
pub(super) struct Send {
    /// Its parts, on a connection each.
    pub(super) parts: Vec<SendPart>,
}

impl Send {
    /// Its bytes; `None` if messages are missing.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// From when the receiver asked to the last packet.
    pub(super) fn window(&self) -> Option<Span> {
        let first = self.parts.iter().map(|part| part.asked).min()?;
        let last = self.parts.iter().map(|part| part.span.last).max()?;
        Some(Span { first, last })
    }

    fn is_known(&self, part: &SendPart) -> bool {
        self.bytes().is_some() && part.bytes.is_some()
    }

    /// Whether it is asked for or sent at the time of `part`, or about then: a longer pause than
    /// either of them separates two sends.
    fn is_under_way(&self, part: &SendPart) -> bool {
        let Some(own) = self.window() else { return false };
        let gap = part.asked.nanos_since(own.last).max(own.first.nanos_since(part.span.last));
        let lengths = [own.last.nanos_since(own.first), part.span.last.nanos_since(part.asked)];
        gap <= lengths[0].max(lengths[1])
    }

    /// Whether `part` can be one of its parts: on another channel, and of a size that NCCL would give
    /// it.
    fn takes(&self, part: &SendPart, slack: u64) -> bool {
        if self.parts.iter().any(|own| own.lane == part.lane) {
            return false;
        }
        let sizes: Option<Vec<u64>> =
            self.parts.iter().chain([part]).map(|part| part.bytes).collect();
        let known = || sizes.iter().flatten().copied();
        let (Some(most), Some(least)) = (known().max(), known().min()) else { return true };
        let is_last_less = known().filter(|bytes| *bytes < most).count() <= 1;
        most.is_multiple_of(GRAIN) && is_last_less && most - least < slack
    }
}

/// The sends of one pair of ranks, in order. `is_cell_split`: NCCL 2.22 or later; `None` if unknown.
pub(super) fn sends(mut parts: Vec<SendPart>, is_cell_split: Option<bool>) -> Vec<Send> {
    let grain = if is_cell_split == Some(true) { GRAIN } else { GRAIN_UNTIL_2_21 };
    // The last part has what the others leave, each of which is rounded up.
    let lanes: BTreeSet<usize> = parts.iter().map(|part| part.lane).collect();
    let slack = grain.saturating_mul(lanes.len() as u64);
    parts.sort_by_key(|part| (part.span.first, part.lane));
    let windows: BTreeMap<(usize, usize), Span> =
        parts.iter().map(|part| ((part.lane, part.range.start), part.window())).collect();
    let mut sends: Vec<Send> = Vec::new();
    for part in parts {
        // One channel may be a send ahead of another, but none skips a send.
        let open = sends.len().saturating_sub(OPEN_SENDS);
        let behind = sends.iter().rposition(|send| has_lane(send, part.lane));
        let from = behind.map_or(open, |behind| open.max(behind + 1));
        let later = sends.get_mut(from..).unwrap_or_default();
        // Where a message is missing, sizes do not show what a part belongs to, and time has to. A send
        // is over once more was asked for on its channels: a receiver asks for a send on all channels
        // before it asks for the next one.
        let is_over = |send: &Send| {
            let mut next =
                send.parts.iter().filter_map(|own| windows.get(&(own.lane, own.range.end)));
            next.any(|next| next.first <= part.asked)
        };
        let takes = |send: &&mut Send| {
            let is_at_once = send.window().is_some_and(|own| own.overlaps(part.window()));
            let is_likely = send.is_known(&part) || send.is_under_way(&part);
            send.takes(&part, slack) && (is_at_once || is_likely && !is_over(send))
        };
        match later.iter_mut().find(takes) {
            Some(send) => send.parts.push(part),
            None => sends.push(Send { parts: vec![part] }),
        }
    }
    sends
}

fn has_lane(send: &Send, lane: usize) -> bool {
    send.parts.iter().any(|part| part.lane == lane)
}
