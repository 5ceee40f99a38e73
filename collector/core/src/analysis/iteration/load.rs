//! Training steps from the rhythm of load alone, if calls cannot be read: bursts of traffic,
//! regular in time and in messages, separated by silence.
//!
//! The silence that separates bursts is found at the largest jump between sorted silences; a period
//! counts only if its variation (standard deviation over mean) is below 0.5, as in
//! sFlow-RT, and bursts carry about the same number of messages.

use super::rhythm::{Piece, Rhythm};
use super::thresholds::{
    ALIKE_BURSTS, ALIKE_FACTOR, FEWEST_BURSTS, NO_SILENCE_PARTS, READABLE_ONE_IN,
    SHORTEST_BURST_SILENCE_NS, SILENCE_JUMP, VARIATION,
};
use super::timeline::Timeline;
use crate::model::spread::lower_median;

/// The training steps of a job; `None` if its load has no rhythm.
pub(super) fn rhythm(timeline: &Timeline) -> Option<Rhythm> {
    let slots = &timeline.slots;
    // Calls that can be read but do not repeat are not training.
    let unread = slots.iter().filter(|slot| slot.call.is_none()).count();
    if unread * READABLE_ONE_IN < slots.len() {
        return None;
    }
    let limit = limit(slots.iter().skip(1).map(|slot| slot.silence_ns).collect())?;
    let mut pieces: Vec<Piece> = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        match pieces.last_mut().filter(|_| slot.silence_ns < limit) {
            Some(piece) => piece.slots.push(at),
            None => pieces.push(Piece { slots: vec![at], is_whole: true, is_adjacent: at > 0 }),
        }
    }
    let starts: Vec<u64> = pieces
        .iter()
        .filter_map(|piece| Some(slots.get(*piece.slots.first()?)?.span.first.as_nanos()))
        .collect();
    let lengths: Vec<u64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let messages: Vec<u64> =
        pieces.iter().map(|piece| piece.slots.iter().map(|at| slots[*at].messages).sum()).collect();
    let is_rhythm =
        pieces.len() >= FEWEST_BURSTS && variation(&lengths) < VARIATION && are_alike(&messages);
    let communicator = slots.first()?.communicator;
    is_rhythm.then_some(Rhythm { communicator, pieces })
}

/// The shortest silence that lies between bursts.
fn limit(mut silences: Vec<u64>) -> Option<u64> {
    silences.sort_unstable();
    let jumps = silences.windows(2).filter(|pair| pair[1] >= SHORTEST_BURST_SILENCE_NS);
    let factor = |pair: &&[u64]| {
        pair[1] as f64 / pair[0].max(SHORTEST_BURST_SILENCE_NS / NO_SILENCE_PARTS) as f64
    };
    let largest = jumps.max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    if factor(&largest) >= SILENCE_JUMP {
        return Some(largest[1]);
    }
    // All silences are alike: each separates bursts.
    silences.first().copied().filter(|shortest| *shortest >= SHORTEST_BURST_SILENCE_NS)
}

fn variation(values: &[u64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / count;
    let square = |value: &u64| (*value as f64 - mean).powi(2);
    let deviation = (values.iter().map(square).sum::<f64>() / count).sqrt();
    deviation / mean
}

fn are_alike(values: &[u64]) -> bool {
    let median = lower_median(values.iter().copied()).unwrap_or(0);
    let alike = values
        .iter()
        .filter(|value| **value * ALIKE_FACTOR >= median && **value <= median * ALIKE_FACTOR);
    alike.count() as f64 >= ALIKE_BURSTS * values.len() as f64
}
