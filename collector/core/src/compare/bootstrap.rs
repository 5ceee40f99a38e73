//! The difference of two means, its 95 % interval and how often chance makes as large a one.
//!
//! Symmetric bootstrap-t for two samples (Hall 1988; Efron and Tibshirani 1993, chapters 12.5 and 16.2):
//! values of each side, one a training step, are drawn with replacement. What all ranks did in a step
//! stays together, so ranks are never counted as independent. Studentised and symmetric, it holds its
//! level with few values and heavy tails; percentiles, and tails taken one by one, do not.

use super::random::Random;
use super::sample::{Sample, moments};

/// Draws for an interval: with the difference that was seen they are 2,000.
const DRAWS: usize = 1_999;

/// Draws at the critical value and beyond: 5 % of 2,000.
const BEYOND: usize = 100;

/// Draws where the probability matters in small fractions of a percent.
const MORE_DRAWS: usize = 9_999;

/// Probability below which more are drawn.
const WORTH_MORE: f64 = 0.02;

/// Fewest values a side.
pub const FEWEST: usize = 5;

/// Critical value of Student's t with two degrees of freedom, 95 %: no interval is wider than if three
/// steps alone decided the mean. Else one step of a second among thirty of ten milliseconds, which most
/// draws miss, makes it endless.
const WIDEST: f64 = 4.302_653;

/// Standard errors beyond the critical value at which four of five differences are found.
const POWER: f64 = 0.8416;

/// What two samples say about the difference of their means, after minus before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference of the means.
    pub change: f64,
    /// 95 % interval of the difference.
    pub interval: [f64; 2],
    /// 95 % interval of after divided by before; `None` if before could be 0.
    pub ratio: Option<[f64; 2]>,
    /// How often equal jobs differ as much by chance, 0 to 1.
    pub probability: f64,
    /// The difference that as many steps would show four times in five.
    pub smallest: f64,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLittle {
    /// A side has fewer than [`FEWEST`] values.
    Values,
    /// Fewer than [`FEWEST`] values of both sides together are not 0.
    Events,
}

/// Estimates the difference between `before` and `after`.
///
/// # Errors
///
/// When there is too little to say anything.
pub fn estimate(before: &Sample, after: &Sample, seed: u64) -> Result<Estimate, TooLittle> {
    if before.len() < FEWEST || after.len() < FEWEST {
        return Err(TooLittle::Values);
    }
    let nonzero = before.nonzero() + after.nonzero();
    if nonzero > 0 && nonzero < FEWEST {
        return Err(TooLittle::Events);
    }
    let change = after.mean() - before.mean();
    let error = (before.error() + after.error()).sqrt();
    if error == 0.0 {
        // No step differs from another of its side: the difference is certain.
        let ratio = (before.mean() > 0.0).then(|| [after.mean() / before.mean(); 2]);
        let probability = if change == 0.0 { 1.0 } else { 1.0 / (MORE_DRAWS as f64 + 1.0) };
        return Ok(Estimate { change, interval: [change; 2], ratio, probability, smallest: 0.0 });
    }
    let mut random = Random::new(seed);
    let mut drawn = draw(before, after, DRAWS, &mut random);
    drawn.sort_by(f64::total_cmp);
    let critical =
        drawn.get(drawn.len().saturating_sub(BEYOND)).copied().unwrap_or(WIDEST).min(WIDEST);
    let seen = (change / error).abs();
    let mut probability = chance(&drawn, seen);
    if probability < WORTH_MORE {
        drawn.extend(draw(before, after, MORE_DRAWS - DRAWS, &mut random));
        probability = chance(&drawn, seen);
    }
    let probability = probability.min(student(seen));
    let reach = critical * error;
    Ok(Estimate {
        change,
        interval: [change - reach, change + reach],
        ratio: ratio(before, after, critical),
        probability,
        smallest: reach + POWER * error,
    })
}

/// Studentised differences of resampled means, without sign.
fn draw(before: &Sample, after: &Sample, draws: usize, random: &mut Random) -> Vec<f64> {
    let change = after.mean() - before.mean();
    let mut values = Vec::with_capacity(before.len().max(after.len()));
    let mut resample = |sample: &Sample, random: &mut Random| {
        values.clear();
        let all = sample.values();
        values.extend((0..all.len()).filter_map(|_| all.get(random.place(all.len()))));
        let (mean, variance) = moments(&values);
        (mean, variance / values.len().max(1) as f64)
    };
    let one = |_| {
        let (first, first_error) = resample(before, random);
        let (second, second_error) = resample(after, random);
        let moved = second - first - change;
        let error = (first_error + second_error).sqrt();
        if error > 0.0 {
            (moved / error).abs()
        } else if moved == 0.0 {
            0.0
        } else {
            f64::INFINITY
        }
    };
    (0..draws).map(one).collect()
}

/// The share of draws at `seen` or beyond; the one that was seen counts as a draw.
fn chance(drawn: &[f64], seen: f64) -> f64 {
    let beyond = drawn.iter().filter(|one| **one >= seen).count();
    (beyond + 1) as f64 / (drawn.len() + 1) as f64
}

/// How often Student's t with two degrees of freedom is `seen` or beyond, in either direction.
fn student(seen: f64) -> f64 {
    1.0 - seen / (seen * seen + 2.0).sqrt()
}

/// Fieller's interval of after divided by before, from the same critical value: it holds 1 exactly if
/// the interval of the difference holds 0.
fn ratio(before: &Sample, after: &Sample, critical: f64) -> Option<[f64; 2]> {
    let (base, value) = (before.mean(), after.mean());
    if base <= 0.0 {
        return None;
    }
    let square = critical * critical;
    let leading = base * base - square * before.error();
    let rest = value * value - square * after.error();
    let under = (base * value).powi(2) - leading * rest;
    if leading <= 0.0 || under < 0.0 {
        return None;
    }
    let root = under.sqrt();
    Some([(base * value - root) / leading, (base * value + root) / leading])
}

#[cfg(test)]
mod tests;
