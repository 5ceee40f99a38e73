//! The pace of a rhythm, from the phases of a wave in equal parts of the time.
//!
//! A phase moves by the difference between the wave's frequency and the true one. It also wanders, because
//! steps differ in length, and is measured with an error, because few packets are drawn. How large both are
//! is not known: all ratios of the two are tried, and each counts as much as it is likely. The interval is
//! that of the steps that truly passed, not of a law that they might follow.

use std::f64::consts::PI;

/// Ratios of wandering between two parts to the error of a phase, as variances.
const RATIOS: [f64; 10] = [0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0];

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

/// The drift of phases, which do not jump by more than half a turn; `None` if they are too few.
pub(super) fn drift(phases: &[f64]) -> Option<Drift> {
    let moves: Vec<f64> =
        phases.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)).collect();
    let count = moves.len();
    let freedom = count.checked_sub(1).filter(|freedom| *freedom >= 4)?;
    let waves: Vec<Wave> = (1..=count).map(|at| Wave::new(at, &moves)).collect();
    let fits: Vec<Fit> = RATIOS.iter().map(|ratio| Fit::new(*ratio, &waves, freedom)).collect();
    let best = fits.iter().map(|fit| fit.likelihood).fold(f64::NEG_INFINITY, f64::max);
    let weight = |fit: &Fit| (fit.likelihood - best).exp();
    let all: f64 = fits.iter().map(weight).sum();
    let mean = fits.iter().map(|fit| weight(fit) * fit.moved).sum::<f64>() / all;
    let scatter = |fit: &Fit| weight(fit) * (fit.variance + (fit.moved - mean).powi(2));
    let variance = fits.iter().map(scatter).sum::<f64>() / all;
    let student = STUDENT.get(freedom - 4).copied().unwrap_or(2.06);
    let parts = count as f64;
    Some(Drift { slope: mean / parts, half: student * variance.sqrt() / parts })
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
    /// By how much the phase truly moved.
    moved: f64,
    variance: f64,
}

impl Fit {
    fn new(ratio: f64, waves: &[Wave], freedom: usize) -> Self {
        let variance = |wave: &Wave| ratio + wave.error;
        let sum = |of: &dyn Fn(&Wave) -> f64| waves.iter().map(of).sum::<f64>();
        let weight = sum(&|wave| wave.steady * wave.steady / variance(wave));
        let steady = sum(&|wave| wave.steady * wave.moves / variance(wave)) / weight;
        let rest = |wave: &Wave| wave.moves - steady * wave.steady;
        let scale = sum(&|wave| rest(wave).powi(2) / variance(wave)) / freedom as f64;
        let scale = scale.max(1e-12);
        let moved = |wave: &Wave| {
            wave.steady * (steady * wave.steady + ratio / variance(wave) * rest(wave))
        };
        let known = sum(&|wave| wave.steady.powi(2) * ratio * wave.error / variance(wave));
        let unknown = sum(&|wave| wave.steady.powi(2) * wave.error / variance(wave));
        // Half a part at either end is beyond the middle of the outermost ones, and what is left of the time.
        let ends = 1.2 * ratio;
        Self {
            likelihood: -0.5
                * (freedom as f64 * scale.ln() + sum(&|wave| variance(wave).ln()) + weight.ln()),
            moved: sum(&moved),
            variance: scale * (known + unknown * unknown / weight + ends),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_drift_is_exact() {
        let phases: Vec<f64> = (0..12).map(|at| 0.3 * f64::from(at)).collect();
        let found = drift(&phases).unwrap();
        assert!((found.slope - 0.3).abs() < 1e-9 && found.half < 1e-3, "{found:?}");
        assert_eq!(drift(&phases[..5]), None);
    }
}
