//! One row of a comparison: a figure before and after, its change, and what chance makes of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::bootstrap::{Estimate, TooLittle, estimate};
use super::measure::Measure;
use super::sample::Sample;
use super::selection::Selection;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// More after than before, and not by chance.
    Higher,
    /// Less, and not by chance.
    Lower,
    /// No difference that this much data can show.
    NoDifferenceShown,
    /// Too few training steps, or events in too few of them, for any statement.
    TooLittle,
    /// One side does not show it.
    Unknown,
}

/// One side of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Mean of the training steps.
    pub mean: f64,
    /// Training steps that have it.
    pub values: u64,
}

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its name: `step_time`, `idle_time`, `late_compute`, `recovery`, `all_reduce_1048576`, ...
    pub measure: String,
    /// `ns`, `packets` or `share` (0 to 1), of one training step.
    pub unit: &'static str,
    /// Kind of the collectives; `null` for other figures.
    pub kind: Option<String>,
    /// Their size in bytes; `null` if unknown.
    pub bytes: Option<u64>,
    /// Before; `null` if unknown.
    pub before: Option<Figure>,
    /// After; `null` if unknown.
    pub after: Option<Figure>,
    /// After minus before.
    pub change: Option<f64>,
    /// Lower end of its 95 % interval; `null` if there is too little data for one.
    pub change_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub change_high: Option<f64>,
    /// The change by the figure before: 0.05 is 5 % more; `null` where before is 0.
    pub relative: Option<f64>,
    /// Lower end of its 95 % interval; `null` if before could be 0.
    pub relative_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub relative_high: Option<f64>,
    /// The smallest change that as many training steps show four times in five.
    pub smallest: Option<f64>,
    /// The same by the figure before.
    pub smallest_relative: Option<f64>,
    /// How often equal jobs differ as much by chance, 0 to 1, this figure alone.
    pub probability: Option<f64>,
    /// What it says, with regard to how many figures are compared.
    pub outcome: Outcome,
}

impl Difference {
    /// The figures of two sides, and what follows; differences are not judged yet.
    pub(super) fn new(
        measure: &Measure,
        before: &Selection<'_>,
        after: &Selection<'_>,
        seed: u64,
    ) -> Self {
        let [one, other] = [before, after].map(|side| Sample::new(&measure.series(side)));
        let figure = |sample: &Sample| {
            (!sample.is_empty())
                .then(|| Figure { mean: sample.mean(), values: sample.count() as u64 })
        };
        let (kind, bytes) = match measure {
            Measure::Collective(kind, bytes) => (Some(kind.clone()), *bytes),
            _ => (None, None),
        };
        let row = Self {
            measure: measure.id(),
            unit: measure.unit(),
            kind,
            bytes,
            before: figure(&one),
            after: figure(&other),
            change: None,
            change_low: None,
            change_high: None,
            relative: None,
            relative_low: None,
            relative_high: None,
            smallest: None,
            smallest_relative: None,
            probability: None,
            outcome: Outcome::Unknown,
        };
        if one.is_empty() || other.is_empty() {
            return row;
        }
        let change = other.mean() - one.mean();
        let by_before = |value: f64| (one.mean() > 0.0).then(|| value / one.mean());
        let row = Self { change: Some(change), relative: by_before(change), ..row };
        match estimate(&one, &other, seed) {
            Ok(found) => row.estimated(&found, by_before),
            Err(TooLittle::Values | TooLittle::Events) => {
                Self { outcome: Outcome::TooLittle, ..row }
            }
        }
    }

    fn estimated(self, found: &Estimate, by_before: impl Fn(f64) -> Option<f64>) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let [low, high] = found.interval;
        Self {
            change_low: finite(low),
            change_high: finite(high),
            relative_low: found.ratio.and_then(|[low, _]| finite(low - 1.0)),
            relative_high: found.ratio.and_then(|[_, high]| finite(high - 1.0)),
            smallest: finite(found.smallest),
            smallest_relative: by_before(found.smallest).and_then(finite),
            probability: Some(found.probability),
            outcome: Outcome::NoDifferenceShown,
            ..self
        }
    }

    /// Judged: it is a difference, or it is none that can be shown.
    pub(super) fn judge(&mut self, is_difference: bool) {
        if is_difference && self.outcome == Outcome::NoDifferenceShown {
            let is_more = self.change.is_some_and(|change| change > 0.0);
            self.outcome = if is_more { Outcome::Higher } else { Outcome::Lower };
        }
    }

    /// Whether it is a difference.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        matches!(self.outcome, Outcome::Higher | Outcome::Lower)
    }
}
