//! Many figures at once: chance may mark one wrongly in few comparisons only.

/// How often the row of training steps may differ by chance.
pub(super) const OF_ANSWER: f64 = 0.05;

/// How often any of the other rows may, all of them together.
pub(super) const OF_ROWS: f64 = 0.01;

/// Changes of a row below this share of a training step are none, however certain: two runs of one job hash
/// their flows to other paths, which moves single waits by microseconds.
pub(super) const MATTERS: f64 = 0.002;

/// The same of shares of packets: a tenth of a percent of them.
pub(super) const SHARE_MATTERS: f64 = 0.001;

/// Which of these probabilities are differences, so that chance makes any of them one in at most
/// `level` of all comparisons (Holm, 1979: valid however the figures depend on each other).
#[must_use]
pub(super) fn differences(probabilities: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    let of = |at: usize| probabilities.get(at).copied().unwrap_or(1.0);
    order.sort_by(|one, other| of(*one).total_cmp(&of(*other)));
    let mut found = vec![false; probabilities.len()];
    for (rank, at) in order.iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        let limit = of(*at) * left;
        if limit > level || limit.is_nan() {
            break;
        }
        if let Some(one) = found.get_mut(*at) {
            *one = true;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_must_pass_the_hardest_limit() {
        assert_eq!(differences(&[0.004, 0.5, 0.0001], 0.01), [true, false, true]);
        assert_eq!(differences(&[0.006, 0.5, 0.004], 0.01), [false; 3]);
        assert_eq!(differences(&[], 0.01), [false; 0]);
        assert_eq!(differences(&[f64::NAN], 0.01), [false]);
    }
}
