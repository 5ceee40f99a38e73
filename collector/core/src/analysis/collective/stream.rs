//! Trees and chains: every participating connection carries the channel's whole part once, one message
//! per chunk.

use super::forwarding::{self, Forwarding};
use super::lane::Lane;
use super::reading::{Fences, Pattern, Reading, end_of, is_joint};
use super::slicing::Slicing;
use super::thresholds::{CONTRADICTION, CROSSINGS, RARER};
use crate::model::nccl::CollectiveKind;
use crate::model::time::Timestamp;

/// Chunks on some lanes, all alike.
struct Run {
    chunks: usize,
    share: Option<u64>,
    cost: u32,
}

/// AllReduce over a channel's tree: `lanes` are its connections, up and down, with their cursors
/// and places.
#[must_use]
pub fn tree(lanes: &[(&Lane, usize)], places: &[usize], slicing: &Slicing) -> Vec<Reading> {
    let reading = |run: Run| Reading {
        pattern: Pattern::Tree,
        kind: CollectiveKind::AllReduce,
        loops: run.chunks as u32,
        share: run.share,
        lanes: places.iter().map(|place| (*place, run.chunks)).collect(),
        cost: run.cost,
        end: end_of(lanes, run.chunks),
        is_witnessed: false,
    };
    runs(lanes, slicing, |chunk| slicing.full.is_multiple_of(chunk))
        .into_iter()
        .filter(|run| is_joint(lanes, run.chunks))
        .map(reading)
        .collect()
}

/// Broadcast and Reduce along a ring: `lanes` in the order of the ring. If all connections of the
/// ring were seen (`is_whole`), one of them is left out.
#[must_use]
pub fn chain(
    lanes: &[(&Lane, usize)],
    places: &[usize],
    is_whole: bool,
    slicing: &Slicing,
) -> Vec<Reading> {
    let Some(left_out) = left_out(lanes, is_whole, slicing) else { return Vec::new() };
    // Starts after the gap, in the direction of the data.
    let start = left_out.map_or(0, |gap| gap + 1);
    let order = (start..lanes.len()).chain(0..start).filter(|place| Some(*place) != left_out);
    let order: Vec<usize> = order.collect();
    let taking_part: Vec<(&Lane, usize)> =
        order.iter().filter_map(|place| lanes.get(*place).copied()).collect();
    let places: Vec<usize> = order.iter().filter_map(|place| places.get(*place).copied()).collect();
    let mut found = Vec::new();
    for run in runs(&taking_part, slicing, |chunk| chunk == slicing.full) {
        let forwarding = forwarding::of_chain(&taking_part, run.chunks, slicing.protocol);
        let reading = |kind, expected, other| Reading {
            pattern: Pattern::Chain,
            kind,
            loops: run.chunks as u32,
            share: run.share,
            lanes: places.iter().map(|place| (*place, run.chunks)).collect(),
            cost: run.cost + RARER + if forwarding == other { CONTRADICTION } else { 0 },
            end: end_of(&taking_part, run.chunks),
            is_witnessed: forwarding == expected,
        };
        let (same, changed) = (Forwarding::Forwarded, Forwarding::Changed);
        found.push(reading(CollectiveKind::Broadcast, same, changed));
        found.push(reading(CollectiveKind::Reduce, changed, same));
    }
    found
}

/// The lane that does not participate: `Some(None)` if all may, `None` if more than one cannot.
fn left_out(lanes: &[(&Lane, usize)], is_whole: bool, slicing: &Slicing) -> Option<Option<usize>> {
    let first_bytes =
        |(lane, cursor): &(&Lane, usize)| lane.message(*cursor).map(|next| next.bytes);
    let start = |(lane, cursor): &(&Lane, usize)| lane.time_at(*cursor).unwrap_or(Timestamp::MAX);
    let earliest = lanes.iter().min_by_key(|lane| start(lane))?;
    let expected = first_bytes(earliest)?;
    let is_like = |place: &usize| {
        let lane = &lanes[*place];
        lane.0.capacity_at(lane.1).is_none_or(|capacity| capacity == slicing.capacity)
            && first_bytes(lane)
                .is_some_and(|bytes| bytes.zip(expected).is_none_or(|(a, b)| a == b))
    };
    let mut unlike = (0..lanes.len()).filter(|place| !is_like(place));
    match (unlike.next(), unlike.next()) {
        (Some(_), Some(_)) => None,
        (Some(place), None) => Some(Some(place)),
        (None, _) if is_whole => {
            Some((0..lanes.len()).max_by_key(|place| (start(&lanes[*place]), *place)))
        }
        (None, _) => Some(None),
    }
}

/// Runs of chunks that begin at the cursors, equal on all lanes. `may_repeat` holds for the sizes
/// of chunks that can be followed by more.
fn runs(lanes: &[(&Lane, usize)], slicing: &Slicing, may_repeat: impl Fn(u64) -> bool) -> Vec<Run> {
    let mut found = Vec::new();
    if lanes.is_empty() {
        return found;
    }
    let mut sizes: Option<u64> = None;
    let mut share = Some(0);
    let mut crossing = 0;
    let mut crossed = 0;
    for chunk in 0.. {
        let Some(wire) = common_size(lanes, chunk, slicing) else { break };
        let bytes = wire.map(|wire| slicing.data(wire));
        if chunk > 0 {
            let fences = Fences::at(lanes, chunk);
            crossing += fences.cost_of_crossing(Fences::default());
            crossed += u32::from(fences.is_clean());
        }
        if bytes == Some(0) || bytes.zip(sizes).is_some_and(|(bytes, size)| bytes > size) {
            break;
        }
        share = share.zip(bytes).map(|(share, bytes)| share + bytes);
        let cost = crossing + Fences::at(lanes, chunk + 1).cost_of_end();
        found.push(Run { chunks: chunk + 1, share, cost });
        let is_last =
            bytes.is_some_and(|bytes| !may_repeat(bytes) || sizes.is_some_and(|size| bytes < size));
        if is_last || crossed > CROSSINGS {
            break;
        }
        sizes = sizes.or(bytes);
    }
    found
}

/// Bytes on the wire of the message `ahead` of the cursors, the same on all lanes: `Some(None)`
/// where none was seen, `None` if they differ or one has no such message.
fn common_size(lanes: &[(&Lane, usize)], ahead: usize, slicing: &Slicing) -> Option<Option<u64>> {
    let mut common = None;
    for (lane, cursor) in lanes {
        let message = lane.message(cursor + ahead)?;
        if message.capacity.is_some_and(|capacity| capacity != slicing.capacity) {
            return None;
        }
        if let Some(bytes) = message.bytes {
            if bytes > slicing.capacity || common.is_some_and(|common| common != bytes) {
                return None;
            }
            common = Some(bytes);
        }
    }
    Some(common)
}
