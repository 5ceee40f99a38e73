//! Repetition in a sequence of calls: lags at which the sequence equals itself over a stretch.

use std::ops::Range;

use super::thresholds::{CALL_COMPARISONS, LONGEST_UNIT};

/// A call, by number; `UNKNOWN` equals nothing.
pub(super) type Symbol = u32;

/// A call whose content is unknown.
pub(super) const UNKNOWN: Symbol = 0;

/// A lag and the stretches of the sequence that repeat with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lag {
    pub(super) lag: usize,
    /// In order; each is at least twice as long as the lag.
    pub(super) runs: Vec<Range<usize>>,
    /// Places in any of them.
    pub(super) covered: usize,
}

/// Lags at which something repeats, the smallest first.
pub(super) fn lags(symbols: &[Symbol]) -> impl Iterator<Item = Lag> + '_ {
    let affordable = CALL_COMPARISONS / symbols.len().max(1);
    let longest = (symbols.len() / 2).min(LONGEST_UNIT).min(affordable);
    (1..=longest).map(|lag| Lag::new(symbols, lag)).filter(|lag| !lag.runs.is_empty())
}

impl Lag {
    fn new(symbols: &[Symbol], lag: usize) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut covered = 0;
        let mut start = 0;
        let later = symbols.get(lag..).unwrap_or_default();
        let mut end_at = |end: usize, start: usize| {
            if end - start >= lag {
                // A run may overlap the previous one.
                let known = runs.last().map_or(0, |run: &Range<usize>| run.end);
                covered += end + lag - start.max(known);
                runs.push(start..end + lag);
            }
        };
        for (at, (one, other)) in symbols.iter().zip(later).enumerate() {
            if one != other || *one == UNKNOWN {
                end_at(at, start);
                start = at + 1;
            }
        }
        end_at(later.len(), start);
        Self { lag, runs, covered }
    }
}

/// Where the least rotation of `unit` begins (Booth 1980): the same for all rotations of one
/// circle.
pub(super) fn least_rotation(unit: &[Symbol]) -> usize {
    let len = unit.len();
    let (mut one, mut other, mut equal) = (0, 1, 0);
    let symbol = |at: usize| unit.get(at % len.max(1)).copied();
    while one < len && other < len && equal < len {
        let (left, right) = (symbol(one + equal), symbol(other + equal));
        if left == right {
            equal += 1;
            continue;
        }
        if left > right {
            one += equal + 1;
        } else {
            other += equal + 1;
        }
        if one == other {
            other += 1;
        }
        equal = 0;
    }
    one.min(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn symbols(text: &str) -> Vec<Symbol> {
        text.bytes().map(|byte| if byte == b'?' { UNKNOWN } else { u32::from(byte) }).collect()
    }

    fn found(text: &str) -> Vec<(usize, usize)> {
        lags(&symbols(text)).map(|lag| (lag.lag, lag.covered)).collect()
    }

    #[test]
    fn what_repeats_is_found() {
        assert_eq!(found("abcdabcdabcd"), [(4, 12)]);
        assert_eq!(found("aaabaaabaaab"), [(1, 9), (4, 12)]);
        assert_eq!(found("abcabc?abcabc"), [(3, 12)]);
        assert_eq!(found("abcdef"), []);
        assert_eq!(found("????????"), []);
        assert_eq!(found(""), []);
    }

    proptest! {
        #[test]
        fn the_least_rotation_is_the_least(unit in prop::collection::vec(0_u32..4, 1..12)) {
            let rotated = |by: usize| [&unit[by..], &unit[..by]].concat();
            let least = (0..unit.len()).map(rotated).min();
            prop_assert_eq!(Some(rotated(least_rotation(&unit))), least);
        }

        #[test]
        fn runs_repeat(text in prop::collection::vec(0_u32..3, 0..80)) {
            for lag in lags(&text) {
                for run in &lag.runs {
                    prop_assert!(run.len() >= 2 * lag.lag && run.end <= text.len());
                    let equals = |at: usize| text[at] == text[at + lag.lag] && text[at] != UNKNOWN;
                    prop_assert!((run.start..run.end - lag.lag).all(equals));
                }
                let mut places: Vec<usize> = lag.runs.iter().cloned().flatten().collect();
                places.sort_unstable();
                places.dedup();
                prop_assert_eq!(places.len(), lag.covered);
            }
        }
    }
}
