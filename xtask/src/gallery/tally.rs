//! The results of all seeds of a scenario, as a line of the table.

use std::fmt;

use super::judge::Verdict;

/// Share of the affected training steps whose straggler must be right.
const STRAGGLER_SHARE: f64 = 0.99;

/// Sums.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: u64,
    sum: Verdict,
}

impl Tally {
    /// Over the columns of a line.
    pub(super) const HEAD: &str =
        "SEEDS  FINDINGS  FALSE  TRAINING STEPS  FALSE  STRAGGLERS  FALSE";

    pub(super) fn add(&mut self, verdict: &Verdict) {
        let sum = &mut self.sum;
        self.runs += 1;
        sum.expected += verdict.expected;
        sum.found += verdict.found;
        sum.false_findings += verdict.false_findings;
        sum.iterations += verdict.iterations;
        sum.iterations_right += verdict.iterations_right;
        sum.false_iterations += verdict.false_iterations;
        sum.stragglers += verdict.stragglers;
        sum.stragglers_right += verdict.stragglers_right;
        sum.false_stragglers += verdict.false_stragglers;
    }

    /// All expected findings with their subjects and no others, every training step in place, nearly every
    /// straggler.
    pub(super) fn is_right(&self) -> bool {
        let sum = &self.sum;
        let wanted = sum.stragglers as f64 * STRAGGLER_SHARE;
        self.runs > 0
            && sum.found == sum.expected
            && sum.false_findings == 0
            && sum.iterations > 0
            && sum.iterations_right == sum.iterations
            && sum.false_iterations == 0
            && sum.stragglers_right as f64 >= wanted
            && sum.false_stragglers == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = &self.sum;
        let of = |right: u64, all: u64| format!("{right}/{all}");
        write!(
            f,
            "{:>5}  {:>8}  {:>5}  {:>14}  {:>5}  {:>10}  {:>5}{}",
            self.runs,
            of(sum.found, sum.expected),
            sum.false_findings,
            of(sum.iterations_right, sum.iterations),
            sum.false_iterations,
            of(sum.stragglers_right, sum.stragglers),
            sum.false_stragglers,
            if self.is_right() { "" } else { "  WRONG" }
        )
    }
}
