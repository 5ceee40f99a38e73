//! The pace of a rhythm, from the phases of a wave in equal parts of the time.
//!
//! A phase moves by the difference between the wave's frequency and the true one. It also wanders, because
//! training steps differ in length, and is measured with an error, because few packets are drawn. How large
//! both are is not known: all ratios of the two are tried, and each counts as much as it is likely.
//!
//! A phase is the mean of its part, so the wandering of neighbours is not independent: moves of means of a
//! random walk have a covariance of one sixth of the walk's variance by part with their neighbours. Errors have
//! one of minus their variance. The waves of sines make both independent.
//!
//! The interval is that of the training steps that truly passed, from the first start to the last one, not of a
//! law that they might follow.

use std::f64::consts::PI;

/// Ratios of wandering by part to the error of a phase, as variances, and how often each is before anything is
/// known. Where the two are hard to tell apart, at about 3, intervals hold less often than elsewhere, so these
/// ratios count more: in made-up phases of 12 to 100 parts, intervals then hold in 93 to 98 % at every ratio up
/// to 10.
const RATIOS: [(f64, f64); 9] = [
    (0.0, 0.32),
    (0.03, 0.32),
    (0.1, 0.43),
    (0.3, 0.56),
    (1.0, 0.76),
    (3.0, 1.0),
    (10.0, 0.3),
    (30.0, 0.1),
    (100.0, 0.03),
];

/// By what the error of each fit is larger than phases alone say. Parts with few datagrams, or long ones, err more
/// than others, which the fits do not know; in simulated jobs, errors were that much larger.
const WIDER: f64 = 1.1;

/// What is left out at each end of an interval.
const BEYOND: f64 = 0.025;

/// Halvings of the range in which an end is looked for.
const HALVINGS: usize = 60;

/// What moves a phase from part to part, by part, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drift {
    pub(super) slope: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How the parts lie in the time.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Parts from the first start of a training step to the last one.
    reach: f64,
    /// By how much the mean of a part blurs wandering.
    blur: f64,
}

/// The drift of phases, which do not jump by more than half a turn, over `reach` parts of `of_part` periods
/// each; `None` if they are too few.
pub(super) fn drift(phases: &[f64], reach: f64, of_part: f64) -> Option<Drift> {
    let moves: Vec<f64> =
        phases.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)).collect();
    let count = moves.len();
    let freedom = count.checked_sub(1).filter(|freedom| *freedom >= 4)?;
    let layout = Layout { reach, blur: (1.0 - 1.0 / (of_part * of_part)) / 6.0 };
    let waves: Vec<Wave> = (1..=count).map(|at| Wave::new(at, &moves)).collect();
    let fit = |&(ratio, prior): &(f64, f64)| Fit::new(ratio, prior, &waves, freedom, layout);
    let mut fits: Vec<Fit> = RATIOS.iter().map(fit).collect();
    let best = fits.iter().map(|fit| fit.likelihood).fold(f64::NEG_INFINITY, f64::max);
    fits.iter_mut().for_each(|fit| fit.likelihood = (fit.likelihood - best).exp());
    let all: f64 = fits.iter().map(|fit| fit.likelihood).sum();
    let mean = fits.iter().map(|fit| fit.likelihood * fit.moved).sum::<f64>() / all;
    let share = |moved: f64| {
        let below = |fit: &Fit| fit.likelihood * student((moved - fit.moved) / fit.error, freedom);
        fits.iter().map(below).sum::<f64>() / all
    };
    // Beyond so many errors of each fit, there is less than `BEYOND` with 4 degrees of freedom.
    let reaches = |fit: &Fit| (fit.moved - mean).abs() + 3.0 * fit.error;
    let far = fits.iter().map(reaches).fold(0.0, f64::max);
    let end = |wanted: f64| {
        let (mut low, mut high) = (mean - far, mean + far);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if share(middle) < wanted { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    let (low, high) = (end(BEYOND), end(1.0 - BEYOND));
    Some(Drift { slope: mean / reach, low: low / reach, high: high / reach })
}

/// The share of Student's distribution below `t`, with two or more degrees of freedom (Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
fn student(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = !freedom.is_multiple_of(2);
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = term;
    for power in (if is_odd { 3 } else { 2 }..freedom - 1).step_by(2) {
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
        sum += term;
    }
    let within = if is_odd { 2.0 / PI * (angle + sine * sum) } else { sine * sum };
    f64::midpoint(1.0, within)
}

/// The moves along one wave of sines, in which wandering and errors are independent.
struct Wave {
    /// The moves.
    moves: f64,
    /// A steady drift by 1.
    steady: f64,
    /// The error of phases, whose variance is 1.
    error: f64,
}

impl Wave {
    fn new(number: usize, moves: &[f64]) -> Self {
        let count = moves.len() as f64 + 1.0;
        let turn = PI * number as f64 / count;
        let norm = (2.0 / count).sqrt();
        let value = |at: usize| norm * (turn * (at as f64 + 1.0)).sin();
        Self {
            moves: moves.iter().enumerate().map(|(at, by)| by * value(at)).sum(),
            steady: (0..moves.len()).map(value).sum(),
            error: 4.0 * (turn / 2.0).sin().powi(2),
        }
    }
}

/// What a ratio of wandering to error makes of the moves.
struct Fit {
    /// Its logarithm, at first.
    likelihood: f64,
    /// By how much the phase truly moved from the first start to the last one.
    moved: f64,
    /// The standard error of that.
    error: f64,
}

impl Fit {
    fn new(ratio: f64, prior: f64, waves: &[Wave], freedom: usize, layout: Layout) -> Self {
        let Layout { reach, blur } = layout;
        let variance = |wave: &Wave| ratio * (1.0 - blur * wave.error) + wave.error;
        let sum = |of: &dyn Fn(&Wave) -> f64| waves.iter().map(of).sum::<f64>();
        let weight = sum(&|wave| wave.steady * wave.steady / variance(wave));
        let steady = sum(&|wave| wave.steady * wave.moves / variance(wave)) / weight;
        let rest = |wave: &Wave| wave.moves - steady * wave.steady;
        let scale = sum(&|wave| rest(wave).powi(2) / variance(wave)) / freedom as f64;
        let scale = scale.max(1e-12);
        // All wandering from start to start has a covariance of 1 part's with each move.
        let wandered = sum(&|wave| ratio * wave.steady / variance(wave) * rest(wave));
        let known = ratio * reach - sum(&|wave| (ratio * wave.steady).powi(2) / variance(wave));
        let unknown = reach - sum(&|wave| ratio * wave.steady.powi(2) / variance(wave));
        let spread = sum(&|wave| variance(wave).ln());
        Self {
            likelihood: prior.ln() - 0.5 * (freedom as f64 * scale.ln() + spread + weight.ln()),
            moved: steady * reach + wandered,
            error: WIDER * (scale * (known.max(0.0) + unknown * unknown / weight)).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_drift_is_exact() {
        let phases: Vec<f64> = (0..12).map(|at| 0.3 * f64::from(at)).collect();
        let found = drift(&phases, 11.0, 1.0).unwrap();
        assert!((found.slope - 0.3).abs() < 1e-9, "{found:?}");
        assert!(found.low < 0.3 && found.high > 0.3 && found.high - found.low < 1e-3, "{found:?}");
        assert_eq!(drift(&phases[..5], 4.0, 1.0), None);
    }

    #[test]
    fn students_distribution_is_that_of_tables() {
        for (freedom, quantile) in [(4, 2.776_445), (5, 2.570_582), (9, 2.262_157), (30, 2.042_272)]
        {
            assert!((student(quantile, freedom) - 0.975).abs() < 1e-6);
            assert!((student(-quantile, freedom) - 0.025).abs() < 1e-6);
        }
    }
}
