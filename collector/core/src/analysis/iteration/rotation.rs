//! Which call of the unit begins a training step: the packets say which calls repeat, not which of
//! them is the first.
//!
//! Compute makes the longest silence, usually before the first call. A capture that saw the
//! communicator's first call, and evaluation and pauses in between, begin and end with whole
//! training steps. These votes are added up.

use super::unit::{Sequence, Unit};

/// How much longer the longest silence has to be than the next to be clear.
const CLEARLY: f64 = 1.5;
/// Votes of the longest silence, clear or not.
const CLEAR_SILENCE: f64 = 2.0;
const SILENCE: f64 = 0.75;
/// Votes of a stretch that begins with the communicator, or begins or ends between other calls.
const WHOLE: f64 = 1.0;
/// Votes of such stretches at most: what cuts one may cut all.
const WHOLE_AT_MOST: f64 = 3.0;
/// Votes of the end of the capture: it may cut a training step, but jobs end, too.
const END: f64 = 0.5;

/// The place in the circle of `unit` where training steps begin.
pub(super) fn find(sequence: &Sequence, unit: &Unit) -> usize {
    let len = unit.symbols.len();
    let mut votes = vec![0.0; len];
    let silences = unit.silences(sequence);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by_key(|at| std::cmp::Reverse(silences[*at]));
    if let [longest, rest @ ..] = order.as_slice() {
        let next = rest.first().map_or(0, |next| silences[*next]);
        let is_clear = silences[*longest] as f64 > CLEARLY * next as f64;
        votes[*longest] += if is_clear { CLEAR_SILENCE } else { SILENCE };
    }
    let mut whole = vec![0.0; len];
    for (run, phase) in &unit.runs {
        let after = (phase + run.len()) % len;
        if run.start > 0 || sequence.is_from_init {
            whole[*phase] += WHOLE;
        }
        if run.end < sequence.symbols.len() {
            whole[after] += WHOLE;
        } else {
            votes[after] += END;
        }
    }
    let sums = votes.iter().zip(&whole).map(|(votes, whole)| votes + whole.min(WHOLE_AT_MOST));
    let mut best = (0, f64::MIN);
    for (at, sum) in sums.enumerate() {
        // The first of equals.
        if sum > best.1 {
            best = (at, sum);
        }
    }
    best.0
}
