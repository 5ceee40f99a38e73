//! Whether a value stays where it is: medians of two thirds, and the slope with its interval.

/// What became of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trend {
    /// Medians of the first and the last third.
    pub(super) first: f64,
    pub(super) last: f64,
    /// Per hour, and half of its 95 % interval.
    pub(super) slope: f64,
    pub(super) half: f64,
    /// The highest.
    pub(super) most: f64,
}

/// Share by which a flat value may differ.
const FLAT: f64 = 0.1;

impl Trend {
    /// Of seconds and values; `None` for fewer than ten.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        /// Blocks whose means stand for independent values: neighbours are alike.
        const BLOCKS: usize = 20;
        if points.len() < 10 {
            return None;
        }
        let third = points.len() / 3;
        let blocks = points.chunks(points.len().div_ceil(BLOCKS)).map(|block| {
            let n = block.len() as f64;
            let sum = block.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (sum.0 / n / 3600.0, sum.1 / n)
        });
        let (slope, half) = slope(&blocks.collect::<Vec<_>>());
        Some(Self {
            first: median(&points[..third]),
            last: median(&points[points.len() - third..]),
            slope,
            half,
            most: points.iter().map(|one| one.1).fold(0.0, f64::max),
        })
    }

    /// Whether the last third is within a tenth of the first, or within `chance`.
    pub(super) fn is_flat(self, chance: f64) -> bool {
        (self.last - self.first).abs() <= (FLAT * self.first).max(chance)
    }
}

fn median(points: &[(f64, f64)]) -> f64 {
    let mut values: Vec<f64> = points.iter().map(|one| one.1).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Least squares: the slope, and 1.96 of its standard error.
fn slope(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let (x, y) = (sum(&|one| one.0) / n, sum(&|one| one.1) / n);
    let spread = sum(&|one| (one.0 - x).powi(2)).max(f64::MIN_POSITIVE);
    let slope = sum(&|one| (one.0 - x) * (one.1 - y)) / spread;
    let rest = sum(&|one| (one.1 - y - slope * (one.0 - x)).powi(2));
    (slope, 1.96 * (rest / (n - 2.0).max(1.0) / spread).sqrt())
}

#[cfg(test)]
mod tests {
    use super::Trend;

    #[test]
    fn what_grows_is_not_flat() {
        let flat: Vec<(f64, f64)> =
            (0..100).map(|at| (f64::from(at), 20.0 + f64::from(at % 3))).collect();
        assert!(Trend::of(&flat).unwrap().is_flat(0.0));
        let grows: Vec<(f64, f64)> =
            (0..100).map(|at| (f64::from(at), 20.0 + f64::from(at) / 10.0)).collect();
        let trend = Trend::of(&grows).unwrap();
        assert!(!trend.is_flat(0.0));
        assert!((trend.slope - 360.0).abs() < 1.0 && trend.half < 1.0, "{trend:?}");
    }
}
