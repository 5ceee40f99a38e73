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

/// Ratios of wandering by part to the error of a phase, as variances.
const RATIOS: [f64; 10] = [0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 2.0, 10.0, 100.0];

/// How often steady jobs are, compared with those of each other ratio. With less, their intervals would hold in
/// more than 97 % of jobs; with more, those of jobs that wander little in less than 92 %.
const STEADY: f64 = 8.0;

/// Quantiles of Student's distribution that leave 2.5 % above, for 4 degrees of freedom and more.
const STUDENT: [f64; 19] = [
    2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
];

/// What moves a phase from part to part, and half the length of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drift {
    /// By part.
    pub(super) slope: f64,
    /// By part.
    pub(super) half: f64,
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
    let fit = |ratio: &f64| Fit::new(*ratio, &waves, freedom, layout);
    let fits: Vec<Fit> = RATIOS.iter().map(fit).collect();
    let best = fits.iter().map(|fit| fit.likelihood).fold(f64::NEG_INFINITY, f64::max);
    let weight = |fit: &Fit| (fit.likelihood - best).exp();
    let all: f64 = fits.iter().map(weight).sum();
    let mean = fits.iter().map(|fit| weight(fit) * fit.moved).sum::<f64>() / all;
    let scatter = |fit: &Fit| weight(fit) * (fit.variance + (fit.moved - mean).powi(2));
    let variance = fits.iter().map(scatter).sum::<f64>() / all;
    let beyond = 1.96 + 2.5 / freedom as f64;
    let student = STUDENT.get(freedom - 4).copied().unwrap_or(beyond);
    Some(Drift { slope: mean / reach, half: student * variance.sqrt() / reach })
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
    likelihood: f64,
    /// By how much the phase truly moved from the first start to the last one.
    moved: f64,
    variance: f64,
}

impl Fit {
    fn new(ratio: f64, waves: &[Wave], freedom: usize, layout: Layout) -> Self {
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
        let prior: f64 = if ratio > 0.0 { 1.0 } else { STEADY };
        let spread = sum(&|wave| variance(wave).ln());
        Self {
            likelihood: prior.ln() - 0.5 * (freedom as f64 * scale.ln() + spread + weight.ln()),
            moved: steady * reach + wandered,
            variance: scale * (known.max(0.0) + unknown * unknown / weight),
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
        assert!((found.slope - 0.3).abs() < 1e-9 && found.half < 1e-3, "{found:?}");
        assert_eq!(drift(&phases[..5], 4.0, 1.0), None);
    }
}
