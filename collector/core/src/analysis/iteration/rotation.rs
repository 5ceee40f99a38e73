//! Which call of the unit begins a training step: packets show which calls repeat, not which one is
//! the first.
//!
//! Two signs vote. Compute makes the longest silence, usually before the first call. Evaluations and
//! pauses come between whole training steps, and a capture that saw the communicator's first call
//! starts with one.

use super::thresholds::{
    CLEAR_RATIO, CLEAR_SILENCE_VOTES, END_VOTES, SILENCE_VOTES, STRETCH_VOTES,
    STRETCH_VOTES_AT_MOST,
};
use super::unit::{Sequence, Unit};

/// The place in the circle of `unit` where training steps begin.
pub(super) fn first_call(sequence: &Sequence, unit: &Unit) -> usize {
    let len = unit.symbols.len();
    let mut votes = vec![0.0; len];
    let silences = unit.silences(sequence);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by_key(|at| std::cmp::Reverse(silences[*at]));
    if let [longest, rest @ ..] = order.as_slice() {
        let next = rest.first().map_or(0, |next| silences[*next]);
        let is_clear = silences[*longest] as f64 > CLEAR_RATIO * next as f64;
        votes[*longest] += if is_clear { CLEAR_SILENCE_VOTES } else { SILENCE_VOTES };
    }
    let mut whole = vec![0.0; len];
    for (run, phase) in &unit.runs {
        let after = (phase + run.len()) % len;
        if run.start > 0 || sequence.is_from_init {
            whole[*phase] += STRETCH_VOTES;
        }
        if run.end < sequence.symbols.len() {
            whole[after] += STRETCH_VOTES;
        } else {
            votes[after] += END_VOTES;
        }
    }
    let sums =
        votes.iter().zip(&whole).map(|(votes, whole)| votes + whole.min(STRETCH_VOTES_AT_MOST));
    let mut best = (0, f64::MIN);
    for (at, sum) in sums.enumerate() {
        // At equal votes, the first.
        if sum > best.1 {
            best = (at, sum);
        }
    }
    best.0
}
