//! Messages of a collective that was not captured completely: the capture began or ended within it,
//! a rank died, or no known collective explains them.

use super::lane::Lane;
use super::reading::{Pattern, Reading};
use super::thresholds::{CUT, CUT_AT_END, UNEXPLAINED};
use crate::model::nccl::CollectiveKind;
use crate::model::time::Timestamp;

/// The messages from the cursors of `lanes` to where the next collective may begin. The cost is
/// low where that is expected and high as a `last_resort`.
#[must_use]
pub fn reading(
    lanes: &[(&Lane, usize)],
    places: &[usize],
    is_last_resort: bool,
) -> Option<Reading> {
    let open = |place: &usize| lanes[*place].0.remaining(lanes[*place].1) > 0;
    let start = |place: usize| {
        let (lane, cursor) = lanes[place];
        lane.time_at(cursor).unwrap_or(Timestamp::MAX)
    };
    let lead = (0..lanes.len()).filter(open).min_by_key(|place| start(*place))?;
    let lead_end = next_fence(lanes[lead].0, lanes[lead].1);
    let boundary = lanes[lead].0.message(lead_end).map(|message| message.number);
    let end_time = last_time(lanes[lead].0, lanes[lead].1, lead_end);
    let mut taken = Vec::new();
    let mut end = end_time;
    for (place, (lane, cursor)) in places.iter().zip(lanes) {
        let to = match boundary.and_then(|number| numbered(lane, *cursor, number)) {
            Some(same) if lane.fence_at(same) != Some(false) => same,
            _ if lane.time_at(*cursor) <= end_time => next_fence(lane, *cursor),
            _ => *cursor,
        };
        if to > *cursor {
            taken.push((*place, to - cursor));
            end = end.max(last_time(lane, *cursor, to));
        }
    }
    let count: usize = taken.iter().map(|(_, count)| *count).sum();
    let is_at_end = lanes.iter().zip(0..).all(|((lane, cursor), place)| {
        let taken = taken.iter().find(|(known, _)| places.get(place) == Some(known));
        lane.remaining(*cursor) == taken.map_or(0, |(_, count)| *count)
    });
    let cost = match (is_at_end, is_last_resort) {
        (true, _) => CUT_AT_END,
        (false, true) => UNEXPLAINED,
        (false, false) => CUT,
    };
    (count > 0).then_some(Reading {
        pattern: Pattern::Cut,
        kind: CollectiveKind::Unknown,
        loops: 0,
        share: None,
        lanes: taken,
        cost,
        end,
        is_witnessed: false,
    })
}

/// The first index after `cursor` at which a collective may begin, or the end.
fn next_fence(lane: &Lane, cursor: usize) -> usize {
    let capacity = lane.capacity_at(cursor);
    let differs = |at: usize| {
        let here = lane.message(at).and_then(|message| message.capacity);
        here.is_some() && here != capacity
    };
    let mut places = cursor + 1..lane.messages.len();
    places
        .find(|at| lane.fence_at(*at) == Some(true) || differs(*at))
        .unwrap_or(lane.messages.len())
}

/// Index of message `number`, if it is not before `cursor`.
fn numbered(lane: &Lane, cursor: usize, number: u64) -> Option<usize> {
    let behind = lane.messages.get(cursor..)?;
    let at = behind.partition_point(|message| message.number < number);
    (behind.get(at)?.number == number).then_some(cursor + at)
}

fn last_time(lane: &Lane, from: usize, to: usize) -> Option<Timestamp> {
    lane.messages.get(from..to)?.iter().rev().find_map(|message| message.last)
}
