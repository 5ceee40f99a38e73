//! Confidence intervals of shares, at 95 %.

/// Wilson's interval of a share, each end from 0 to 1.
pub(crate) fn wilson(hits: usize, of: usize) -> [f64; 2] {
    const Z: f64 = 1.96;
    let (n, share) = (of.max(1) as f64, hits as f64 / of.max(1) as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    [middle - half, middle + half].map(|end| end / (1.0 + Z * Z / n))
}

/// `203 of 208, 97.6 % (95 %: 94.5 to 99.0 %)`: Wilson's interval.
pub(crate) fn words(right: usize, of: usize) -> String {
    let share = right as f64 / of.max(1) as f64;
    let [least, most] = wilson(right, of).map(|end| 100.0 * end);
    format!("{right} of {of}, {:.1} % (95 %: {least:.1} to {most:.1} %)", 100.0 * share)
}

/// The upper end of the exact two-sided interval (Clopper and Pearson): the share at which so few
/// hits have a chance of 2.5 %.
pub(super) fn upper_bound(hits: u64, of: u64) -> f64 {
    if hits >= of {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let share = f64::midpoint(low, high);
        if at_most(hits, of, share) > 0.025 { low = share } else { high = share }
    }
    high
}

/// The chance of at most `hits` of `of`, each with probability `share`.
fn at_most(hits: u64, of: u64, share: f64) -> f64 {
    let mut ln_term = of as f64 * (1.0 - share).ln();
    let mut sum = ln_term.exp();
    for hit in 0..hits {
        ln_term += ((of - hit) as f64 / (hit + 1) as f64 * share / (1.0 - share)).ln();
        sum += ln_term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::upper_bound;

    #[test]
    fn the_bound_is_that_of_the_tables() {
        // Without a hit: 1 - 0.025^(1/n). One of ten: R, binom.test(1, 10).
        assert!((upper_bound(0, 5000) - 7.375e-4).abs() < 1e-6);
        assert!((upper_bound(1, 10) - 0.445_016).abs() < 1e-5);
        assert!((upper_bound(10, 10) - 1.0).abs() < 1e-12);
    }
}
