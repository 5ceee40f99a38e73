//! One figure of one side, a value for each training step: its mean, and how far chance moves it.

/// Most values that are resampled; longer series are cut into blocks of consecutive steps, whose means
/// are resampled.
const MOST: usize = 128;

/// Fewest values for which the correlation of neighbours says anything.
const FEWEST_FOR_CORRELATION: usize = 8;

/// Largest correlation of neighbours that is believed: beyond it a series is one drift.
const MOST_CORRELATED: f64 = 0.9;

/// Values in order of time, ready to be resampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Ascending: the result of resampling does not depend on the order of the steps.
    values: Vec<f64>,
    mean: f64,
    variance: f64,
    inflation: f64,
    /// Values that were given.
    count: usize,
}

impl Sample {
    /// A sample of `series`, in order of time. Values that are no number are left out.
    #[must_use]
    pub fn new(series: &[f64]) -> Self {
        let known: Vec<f64> = series.iter().copied().filter(|value| value.is_finite()).collect();
        let count = known.len();
        let mut values = blocks(known);
        let (mean, variance) = moments(&values);
        let inflation = inflation(&values, mean, variance);
        values.sort_by(f64::total_cmp);
        Self { values, mean, variance, inflation, count }
    }

    /// Number of values that were given.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Number of values that are resampled.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The mean; 0 of nothing.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Values that are resampled, ascending.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many values are not 0.
    #[must_use]
    pub fn nonzero(&self) -> usize {
        self.values.iter().filter(|value| **value != 0.0).count()
    }

    /// Square of the standard error of the mean if neighbours had nothing in common.
    #[must_use]
    pub fn independent_error(&self) -> f64 {
        self.variance / (self.values.len().max(1)) as f64
    }

    /// Square of the standard error of the mean.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.independent_error() * self.inflation
    }
}

/// Means of at most [`MOST`] blocks of equal length; the values at the start that fill no block are
/// left out.
fn blocks(values: Vec<f64>) -> Vec<f64> {
    let length = values.len().div_ceil(MOST);
    if length < 2 {
        return values;
    }
    let spare = values.len() % length;
    let whole = values.get(spare..).unwrap_or_default();
    whole.chunks_exact(length).map(|block| block.iter().sum::<f64>() / length as f64).collect()
}

/// Mean and variance of a sample.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    // Of differences to the first value: exact where all are alike.
    let first = values.first().copied().unwrap_or(0.0);
    let mean = values.iter().map(|value| value - first).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - first - mean).powi(2)).sum();
    (first + mean, if values.len() > 1 { squares / (count - 1.0) } else { 0.0 })
}

/// By how much neighbours that are alike make the mean less certain: (1 + r) / (1 - r) for a series in
/// which each value is r times the one before plus chance. r is corrected for its bias (Kendall, 1954);
/// neighbours that are unlike are not believed, as they would make the interval shorter.
fn inflation(values: &[f64], mean: f64, variance: f64) -> f64 {
    let count = values.len();
    if count < FEWEST_FOR_CORRELATION || variance <= 0.0 {
        return 1.0;
    }
    let pairs = values.iter().zip(values.iter().skip(1));
    let sum: f64 = pairs.map(|(one, next)| (one - mean) * (next - mean)).sum();
    let raw = sum / (variance * (count as f64 - 1.0));
    let corrected = (raw + (1.0 + 4.0 * raw) / count as f64).clamp(0.0, MOST_CORRELATED);
    (1.0 + corrected) / (1.0 - corrected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_long_series_is_that_of_blocks() {
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let sample = Sample::new(&long);
        assert_eq!((sample.count(), sample.len()), (1000, 125));
        assert!((sample.mean() - 499.5).abs() < 1e-9, "{}", sample.mean());
        assert_eq!(Sample::new(&[]).mean(), 0.0);
        assert_eq!(Sample::new(&[f64::NAN, 2.0]).count(), 1);
    }

    #[test]
    fn neighbours_that_are_alike_widen_and_others_do_not_narrow() {
        let drift: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(Sample::new(&drift).inflation > 5.0);
        let turns: Vec<f64> = (0..30).map(|at| f64::from(at % 2)).collect();
        assert_eq!(Sample::new(&turns).inflation, 1.0);
        assert_eq!(Sample::new(&[3.0; 30]).inflation, 1.0);
    }
}
