//! Median and spread of measurements, of which some may be far off.

/// The median; `None` of nothing. Orders `values`.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    let high = *values.get(upper)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    let low = values.get(upper.checked_sub(1)?)?;
    Some(f64::midpoint(*low, high))
}

/// Median and tenth percentile of round trips.
pub(super) fn round_trip(times: &mut [f64]) -> Option<(f64, f64)> {
    let middle = median(times)?;
    times.get(times.len() / 10).map(|&low| (middle, low))
}

/// Standard deviation around `center` of the values that are no outliers. The median of the distances
/// tells outliers first, then the deviation of what is left: it varies less from sample to sample.
pub fn spread(values: &[f64], center: f64) -> f64 {
    /// Of a normal distribution: its deviation by the median of the distances.
    const PER_DEVIATION: f64 = 1.4826;
    const OUTLIER: f64 = 3.5;
    const ROUNDS: usize = 4;
    let mut distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    let mut deviation = median(&mut distances).unwrap_or_default() * PER_DEVIATION;
    for _ in 0..ROUNDS {
        let kept = distances.iter().filter(|&&distance| distance <= OUTLIER * deviation);
        let (count, sum) = kept.fold((0_u32, 0.0), |(n, sum), d| (n + 1, sum + d * d));
        if count < 2 {
            break;
        }
        deviation = (sum / f64::from(count)).sqrt();
    }
    deviation
}

#[cfg(test)]
mod tests {
    use super::{median, spread};

    #[test]
    fn medians_take_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median(&mut [3.0, 1.0]), Some(2.0));
    }

    #[test]
    fn one_outlier_does_not_widen_the_spread() {
        assert!(spread(&[1.0, 1.1, 0.9, 1.0, 50.0], 1.0) < 0.2);
    }
}
