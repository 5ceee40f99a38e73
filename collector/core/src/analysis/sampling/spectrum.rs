//! Power by frequency of counts in equal bins.

use std::f64::consts::TAU;

/// A complex number: real and imaginary part.
pub(super) type Complex = [f64; 2];

pub(super) fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

pub(super) fn turn(angle: f64) -> Complex {
    [angle.cos(), angle.sin()]
}

/// The power at each multiple of one wave per length of `bins`, up to half a wave a bin. `bins` are a power
/// of two.
pub(super) fn powers(bins: &[f64]) -> Vec<f64> {
    let total: f64 = bins.iter().sum();
    let mean = total / bins.len().max(1) as f64;
    let values: Vec<Complex> = bins.iter().map(|bin| [bin - mean, 0.0]).collect();
    let transformed = transform(&values, 1);
    let norm = 2.0 / total.max(1.0);
    transformed.iter().take(bins.len() / 2).map(|[re, im]| norm * (re * re + im * im)).collect()
}

/// Cooley and Tukey's, for every `stride`-th value.
fn transform(values: &[Complex], stride: usize) -> Vec<Complex> {
    let count = values.len().div_ceil(stride);
    if count <= 1 {
        return values.first().copied().into_iter().collect();
    }
    let even = transform(values, 2 * stride);
    let odd = transform(values.get(stride..).unwrap_or(&[]), 2 * stride);
    let turned: Vec<Complex> = odd
        .iter()
        .enumerate()
        .map(|(at, value)| times(*value, turn(-TAU * at as f64 / count as f64)))
        .collect();
    let pairs = || even.iter().zip(&turned);
    let sums = pairs().map(|([a, b], [c, d])| [a + c, b + d]);
    let differences = pairs().map(|([a, b], [c, d])| [a - c, b - d]);
    sums.chain(differences).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_has_its_power_at_its_frequency() {
        let bins: Vec<f64> =
            (0..256).map(|at| 5.0 + (TAU * 16.0 * f64::from(at) / 256.0).cos()).collect();
        let powers = powers(&bins);
        let total = 5.0 * 256.0;
        for (at, power) in powers.iter().enumerate() {
            let expected = if at == 16 { 2.0 / total * 128.0 * 128.0 } else { 0.0 };
            assert!((power - expected).abs() < 1e-9, "{at}: {power}");
        }
    }
}
