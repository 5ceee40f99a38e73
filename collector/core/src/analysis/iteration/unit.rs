//! The unit: the calls that repeat in every training step, as a circle. Where it begins is for
//! `rotation.rs`.
//!
//! Several lags may explain a sequence. Equal gradient buckets repeat within a training step, and
//! evaluation after every hundredth training step makes a hundred of them repeat. The inner
//! repetition is taken to be the training step itself only if it repeats many times over and
//! silence (compute) before it is much like that before the greater unit, or if the greater unit
//! was seen less than three times.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;
use std::ops::Range;

use super::repeat::{self, Symbol, least_rotation};
use super::thresholds::{
    ALIKE_SILENCE, CALLS_FOR_TWO_REPEATS, EQUAL_GROUP_TENTHS, EXPLAINED_SHARE,
    EXPLAINED_SHARE_OF_EQUALS, GROUP_SILENCE, MANY, NEARLY, REPEATS, SHORTEST_SILENCE_PARTS,
    SILENCE_OF_EQUALS,
};
use crate::model::spread::lower_median;

/// A communicator's calls in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) symbols: Vec<Symbol>,
    /// Nanoseconds without a collective of the job before each.
    pub(super) silences: Vec<u64>,
    /// When each began, in nanoseconds since the epoch.
    pub(super) starts: Vec<u64>,
    /// The communicator's first call was seen.
    pub(super) is_from_init: bool,
}

/// Calls that repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// One turn of the circle.
    pub(super) symbols: Vec<Symbol>,
    /// Stretches that repeat it, each with the place in `symbols` of its first call.
    pub(super) runs: Vec<(Range<usize>, usize)>,
    covered: usize,
}

fn is_nearly(covered: usize, of: usize) -> bool {
    covered as f64 >= NEARLY * of as f64
}

impl Unit {
    /// The unit of a sequence; `None` if nothing repeats as training does.
    pub(super) fn from_sequence(sequence: &Sequence) -> Option<Self> {
        let mut best: Option<Self> = None;
        for lag in repeat::lags(&sequence.symbols) {
            let Some(outer) = Self::with_lag(sequence, &lag) else { continue };
            let is_better = best.as_ref().is_none_or(|inner| {
                // A unit that recurs within a greater one also covers odd pieces of it.
                let explains_more = outer.covered > inner.covered
                    || !outer.is_turns_of(inner)
                        && (outer.covered == inner.covered
                            || !inner.is_many() && is_nearly(outer.covered, inner.covered));
                explains_more && !inner.is_training_step_in(&outer, sequence)
            });
            if is_better {
                best = Some(outer);
            }
        }
        let unit = best?;
        if unit.is_of_equals() {
            return unit.grouped(sequence);
        }
        let share = unit.covered as f64 / sequence.symbols.len() as f64;
        let has_enough = unit.repeats() >= REPEATS
            || unit.repeats() == 2 && unit.symbols.len() >= CALLS_FOR_TWO_REPEATS;
        (has_enough && share >= EXPLAINED_SHARE).then_some(unit)
    }

    /// The unit that explains most, among those that repeat with a lag.
    fn with_lag(sequence: &Sequence, lag: &repeat::Lag) -> Option<Self> {
        let mut units: BTreeMap<Vec<Symbol>, Self> = BTreeMap::new();
        let mut known = 0;
        for run in &lag.runs {
            let turn = sequence.symbols.get(run.start..run.start + lag.lag)?;
            let least = least_rotation(turn);
            let symbols = [&turn[least..], &turn[..least]].concat();
            let unit = units.entry(symbols.clone()).or_insert(Self {
                symbols,
                runs: Vec::new(),
                covered: 0,
            });
            unit.covered += run.end - run.start.max(known).min(run.end);
            unit.runs.push((run.clone(), (lag.lag - least) % lag.lag));
            known = run.end;
        }
        let mut unit = units.into_values().max_by_key(|unit| unit.covered)?;
        unit.covered += unit.alone(sequence);
        Some(unit)
    }

    /// Calls in single turns outside the runs, as after an evaluation near the end. A turn counts if
    /// it begins where a run begins or would go on.
    fn alone(&self, sequence: &Sequence) -> usize {
        let len = self.symbols.len();
        let rotated = |phase: usize| [&self.symbols[phase..], &self.symbols[..phase]].concat();
        let phases = self.runs.iter().flat_map(|(run, phase)| [*phase, (phase + run.len()) % len]);
        let turns: Vec<Vec<Symbol>> =
            phases.collect::<BTreeSet<_>>().into_iter().map(rotated).collect();
        let ends = self.runs.iter().map(|(run, _)| run.end);
        let starts = self.runs.iter().map(|(run, _)| run.start).chain([sequence.symbols.len()]);
        let mut alone = 0;
        for (from, to) in once(0).chain(ends).zip(starts) {
            let mut gap = sequence.symbols.get(from..to).unwrap_or_default();
            while gap.len() >= len {
                let is_turn = turns.iter().any(|turn| gap.starts_with(turn));
                alone += if is_turn { len } else { 0 };
                gap = &gap[if is_turn { len } else { 1 }..];
            }
        }
        alone
    }

    /// Whether this is a multiple of `other`.
    fn is_turns_of(&self, other: &Self) -> bool {
        let turns = other.symbols.iter().cycle().take(self.symbols.len());
        self.symbols.len().is_multiple_of(other.symbols.len().max(1))
            && self.symbols.iter().eq(turns)
    }

    pub(super) fn is_of_equals(&self) -> bool {
        self.symbols.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Whole turns of the circle that were seen.
    fn repeats(&self) -> usize {
        self.runs.iter().map(|(run, _)| run.len() / self.symbols.len()).sum()
    }

    /// The place in the circle of each place of the runs, but not of their first turns: what was
    /// before these is something else.
    pub(super) fn inner_places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let len = self.symbols.len();
        self.runs.iter().flat_map(move |(run, phase)| {
            (run.start + len..run.end).map(move |at| (at, (at - run.start + phase) % len))
        })
    }

    /// The median silence before each place of the circle.
    pub(super) fn silences(&self, sequence: &Sequence) -> Vec<u64> {
        let mut silences = vec![Vec::new(); self.symbols.len()];
        for (at, phase) in self.inner_places() {
            silences[phase].extend(sequence.silences.get(at));
        }
        silences.into_iter().map(|one| lower_median(one.into_iter()).unwrap_or(0)).collect()
    }

    fn silence(&self, sequence: &Sequence) -> u64 {
        self.silences(sequence).into_iter().max().unwrap_or(0)
    }

    /// Whether this is a training step although it repeats within `outer`.
    fn is_training_step_in(&self, outer: &Self, sequence: &Sequence) -> bool {
        let silence = self.silence(sequence) as f64;
        let is_alike = silence >= ALIKE_SILENCE * outer.silence(sequence) as f64;
        outer.repeats() < REPEATS || self.is_many() && is_alike && silence > 0.0
    }

    /// Whether it usually repeats many times in a row.
    fn is_many(&self) -> bool {
        let turns = self.runs.iter().map(|(run, _)| (run.len() / self.symbols.len()) as u64);
        lower_median(turns).unwrap_or(0) >= MANY as u64
    }

    /// Training steps of a unit whose calls are all equal: each call is one if compute precedes
    /// each; otherwise the calls between two long silences are one.
    fn grouped(self, sequence: &Sequence) -> Option<Self> {
        let share = self.covered as f64 / sequence.symbols.len() as f64;
        if self.repeats() < REPEATS || share < EXPLAINED_SHARE_OF_EQUALS {
            return None;
        }
        let places: Vec<usize> = self.inner_places().map(|(at, _)| at).collect();
        let silences = || places.iter().filter_map(|at| sequence.silences.get(*at).copied());
        let length = |at: &usize| {
            let start = |at: usize| sequence.starts.get(at).copied();
            Some(start(*at)?.saturating_sub(start(at.checked_sub(1)?)?))
        };
        let usual_length = lower_median(places.iter().filter_map(length)).unwrap_or(0);
        let usual_silence = lower_median(silences()).unwrap_or(0);
        if usual_silence as f64 >= SILENCE_OF_EQUALS * usual_length as f64 && usual_silence > 0 {
            return Some(self);
        }
        let limit =
            usual_silence.max(usual_length / SHORTEST_SILENCE_PARTS).saturating_mul(GROUP_SILENCE);
        let long: Vec<usize> = places
            .iter()
            .copied()
            .filter(|at| sequence.silences.get(*at).is_some_and(|silence| *silence > limit))
            .collect();
        let mut distances: Vec<u64> =
            long.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect();
        let usual = lower_median(distances.iter().copied()).unwrap_or(0);
        let count = distances.len();
        distances.retain(|distance| *distance == usual);
        if distances.len() < 2 || distances.len() * 10 < count * EQUAL_GROUP_TENTHS {
            return None;
        }
        let len = usual as usize;
        let symbol = *self.symbols.first()?;
        let first = *long.first()?;
        let phase = |run: &Range<usize>| (run.start + len - first % len) % len;
        Some(Self {
            symbols: vec![symbol; len],
            runs: self.runs.iter().map(|(run, _)| (run.clone(), phase(run))).collect(),
            covered: self.covered,
        })
    }
}
