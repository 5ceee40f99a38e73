//! A workload as the rounds that every rank goes through.

use super::job::Shape;
use super::report::Placement;

/// Collectives that a rank calls one after the other, with computing before them if the job
/// computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What the round is for.
    pub purpose: Purpose,
    /// Training step, from 0; `None` in a sweep and during warm-up.
    pub iteration: Option<u32>,
    /// The calls, in order.
    pub calls: Vec<Call>,
}

/// What a round is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Warm up caches and connections; not measured.
    Warmup,
    /// Timed: its durations are the results.
    Measured,
    /// Checked, not measured: in place, the results of a sweep's measured rounds are the next
    /// call's inputs.
    Checked,
}

/// One collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Row of the table, from 0.
    pub row: usize,
    /// Bytes as nccl-tests counts them.
    pub bytes: u64,
    /// Where the result goes.
    pub placement: Placement,
}

/// The rounds of `shape`, in order; with rounds that check a sweep's results if `check`.
pub fn rounds(shape: &Shape, check: bool) -> Box<dyn Iterator<Item = Round> + '_> {
    match shape {
        Shape::Sweep { sizes, warmup, iterations } => {
            let rows = sizes.iter().enumerate();
            Box::new(
                rows.flat_map(move |(row, &bytes)| sweep(row, bytes, *warmup, *iterations, check)),
            )
        }
        Shape::Training { buckets, warmup, iterations, .. } => {
            let calls: Vec<Call> = (buckets.iter().enumerate())
                .map(|(row, &bytes)| Call { row, bytes, placement: Placement::InPlace })
                .collect();
            Box::new((0..warmup.saturating_add(*iterations)).map(move |number| {
                let iteration = number.checked_sub(*warmup);
                let purpose = iteration.map_or(Purpose::Warmup, |_| Purpose::Measured);
                Round { purpose, iteration, calls: calls.clone() }
            }))
        }
    }
}

/// Number of collectives in all rounds.
#[must_use]
pub fn total(shape: &Shape, check: bool) -> u64 {
    rounds(shape, check).map(|round| round.calls.len() as u64).sum()
}

/// One size, out of place and in place, as in `TimeTest` of nccl-tests (`src/common.cu`).
fn sweep(row: usize, bytes: u64, warmup: u32, iterations: u32, check: bool) -> Vec<Round> {
    let round = |purpose, placement, count: u32| {
        let call = Call { row, bytes, placement };
        Round { purpose, iteration: None, calls: vec![call; count as usize] }
    };
    let mut rounds = vec![round(Purpose::Warmup, Placement::OutOfPlace, warmup)];
    for placement in [Placement::OutOfPlace, Placement::InPlace] {
        rounds.push(round(Purpose::Measured, placement, iterations));
        rounds.push(round(Purpose::Checked, placement, u32::from(check)));
    }
    rounds.retain(|round| !round.calls.is_empty());
    rounds
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Purpose, rounds, total};
    use crate::job::Shape;

    #[test]
    fn a_sweep_checks_what_it_does_not_measure() {
        let shape = Shape::Sweep { sizes: vec![8, 16], warmup: 1, iterations: 20 };
        assert_eq!((total(&shape, true), total(&shape, false)), (2 * 43, 2 * 41));
        let purposes: Vec<_> = rounds(&shape, true).take(5).map(|round| round.purpose).collect();
        use Purpose::{Checked, Measured, Warmup};
        assert_eq!(purposes, [Warmup, Measured, Checked, Measured, Checked]);
    }

    #[test]
    fn training_counts_its_iterations_after_warming_up() {
        let shape = Shape::Training {
            buckets: vec![100, 50],
            warmup: 1,
            iterations: 2,
            compute: Duration::ZERO,
            jitter: Duration::ZERO,
        };
        let iterations: Vec<_> = rounds(&shape, true).map(|round| round.iteration).collect();
        assert_eq!(iterations, [None, Some(0), Some(1)]);
        assert_eq!(total(&shape, true), 6);
    }
}
