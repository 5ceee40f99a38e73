//! Finds every training step in a communicator's calls, given the unit and its first call: complete
//! ones, those cut off by the capture, and those with unreadable calls.

use super::repeat::{Symbol, UNKNOWN};
use super::thresholds::{LONGEST_IN_UNITS, REMAINING_SHARE, START_SILENCE_PARTS};
use super::unit::Sequence;

/// A training step among a communicator's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occurrence {
    /// Its first call.
    pub(super) first: usize,
    /// Number of its calls.
    pub(super) calls: usize,
    pub(super) is_whole: bool,
}

/// The training steps in order. `silence` is the usual silence before one, in nanoseconds.
pub(super) fn occurrences(sequence: &Sequence, unit: &[Symbol], silence: u64) -> Vec<Occurrence> {
    let symbols = sequence.symbols.as_slice();
    let mut found: Vec<Occurrence> = Vec::new();
    let mut at = 0;
    let mut open = 0;
    while at < symbols.len() {
        if symbols[at..].starts_with(unit) {
            found.extend(damaged(sequence, unit, silence, open..at));
            found.push(Occurrence { first: at, calls: unit.len(), is_whole: true });
            at += unit.len();
            open = at;
        } else {
            at += 1;
        }
    }
    found.extend(damaged(sequence, unit, silence, open..symbols.len()));
    found
}

/// The training steps in a stretch without a whole one.
fn damaged(
    sequence: &Sequence,
    unit: &[Symbol],
    silence: u64,
    stretch: std::ops::Range<usize>,
) -> Vec<Occurrence> {
    let (Some(first), false) = (unit.first(), stretch.is_empty()) else { return Vec::new() };
    let begins = |at: &usize| {
        let is_first = sequence.symbols.get(*at).is_some_and(|it| it == first || *it == UNKNOWN);
        is_first
            && sequence
                .silences
                .get(*at)
                .is_some_and(|before| *before >= silence / START_SILENCE_PARTS)
    };
    let mut starts: Vec<usize> = stretch.clone().filter(begins).collect();
    if starts.first() != Some(&stretch.start) {
        starts.insert(0, stretch.start);
    }
    starts.push(stretch.end);
    let parts = starts.windows(2).map(|pair| pair[0]..pair[1]);
    let is_one = |part: &std::ops::Range<usize>| {
        let Some(calls) = sequence.symbols.get(part.clone()) else { return false };
        if part.start == 0 && !sequence.is_from_init {
            return is_alike(calls, unit.get(unit.len().saturating_sub(calls.len())..));
        }
        if part.end == sequence.symbols.len() {
            return is_alike(calls, unit.get(..calls.len().min(unit.len())));
        }
        is_alike(calls, Some(unit))
    };
    let found = parts.filter(is_one);
    found.map(|part| Occurrence { first: part.start, calls: part.len(), is_whole: false }).collect()
}

/// Whether `calls` have most of `unit` in its order.
fn is_alike(calls: &[Symbol], unit: Option<&[Symbol]>) -> bool {
    let Some(unit) = unit.filter(|unit| calls.len() <= LONGEST_IN_UNITS * unit.len()) else {
        return false;
    };
    // Longest common subsequence; an unknown call matches any call, but not all may be unknown.
    let mut common = vec![0_usize; unit.len() + 1];
    for call in calls {
        let mut diagonal = 0;
        for (at, expected) in unit.iter().enumerate() {
            let above = common[at + 1];
            let is_equal = call == expected || *call == UNKNOWN;
            common[at + 1] = if is_equal { diagonal + 1 } else { above.max(common[at]) };
            diagonal = above;
        }
    }
    let most = common.last().copied().unwrap_or(0);
    let longer = unit.len().max(calls.len());
    most as f64 >= REMAINING_SHARE * longer as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, is_from_init: bool) -> Vec<(usize, usize, bool)> {
        let symbols: Vec<Symbol> =
            text.bytes().map(|byte| if byte == b'?' { UNKNOWN } else { u32::from(byte) }).collect();
        let silence = |symbol: &Symbol| if *symbol == u32::from(b'a') { 100 } else { 0 };
        let sequence = Sequence {
            silences: symbols.iter().map(silence).collect(),
            starts: vec![0; symbols.len()],
            symbols,
            is_from_init,
        };
        let unit: Vec<Symbol> = "abcd".bytes().map(u32::from).collect();
        let all = occurrences(&sequence, &unit, 100);
        all.iter().map(|one| (one.first, one.calls, one.is_whole)).collect()
    }

    #[test]
    fn cut_and_damaged_ones_are_found_and_others_are_not() {
        assert_eq!(found("abcdabcd", true), [(0, 4, true), (4, 4, true)]);
        assert_eq!(found("xyabcd", true), [(2, 4, true)]);
        assert_eq!(found("cdabcdab", false), [(0, 2, false), (2, 4, true), (6, 2, false)]);
        let damaged = [(0, 4, true), (4, 4, false), (8, 3, false), (11, 4, true)];
        assert_eq!(found("abcda?cdabcabcd", true), damaged);
        let evaluated = [(0, 4, true), (10, 4, true)];
        assert_eq!(found("abcdxyzxyzabcd", true), evaluated);
    }
}
