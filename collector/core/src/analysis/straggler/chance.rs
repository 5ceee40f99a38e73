//! Sequential tests: how strong the evidence is that ranks are not all alike.
//!
//! Evidence is what a bet against chance has grown to (an e-value). A job is judged again and again
//! while it runs; in a job of equals, the chance that evidence *ever* reaches `x` is at most `1 / x`
//! (Ville's inequality). A test for a fixed number of values has no such bound.

/// How much the effects that are looked for may differ from zero, in standard deviations, squared.
const EFFECT: f64 = 10.0;

/// Evidence that a hit is more likely than `share`: the beta-binomial mixture over all other
/// probabilities.
#[must_use]
pub fn of_share(hits: usize, tries: usize, share: f64) -> f64 {
    let (hit, all) = (hits as f64, tries as f64);
    if hit <= share * all {
        return 0.0;
    }
    let chance = hit * share.ln() + (all - hit) * (1.0 - share).ln();
    (-(all + 1.0).ln() - ln_choose(tries, hits) - chance).exp()
}

/// Evidence that the mean is above zero: a t-test with a normal mixture of effects (Gönen et al.
/// 2005, Rouder et al. 2009).
#[must_use]
pub fn of_mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 || mean <= 0.0 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let freedom = count - 1.0;
    let t_squared = mean * mean * count / (squares / freedom).max(f64::MIN_POSITIVE);
    let scale = 1.0 + count * EFFECT;
    let growth = (1.0 + t_squared / freedom) / (1.0 + t_squared / (freedom * scale));
    growth.powf(count / 2.0) / scale.sqrt()
}

/// The logarithm of the binomial coefficient.
fn ln_choose(of: usize, take: usize) -> f64 {
    let take = take.min(of - take);
    (0..take).map(|at| ((of - at) as f64 / (at + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_what_the_bet_is_worth() {
        // All of five: the mean of p^5 over p, against 1/8 each time.
        assert!((of_share(5, 5, 0.125) - 8.0_f64.powi(5) / 6.0).abs() < 1e-6);
        // Three of four: the mean of 4 p^3 (1 - p) is 1/5.
        assert!((of_share(3, 4, 0.5) - 16.0 / 20.0).abs() < 1e-9);
        assert!(of_share(1, 4, 0.5) < 1e-12, "less than its share");
        // BayesFactor's formula by hand: n = 4, t = 3, g = 10.
        let values = [1.0, 2.0, 3.0, 4.0];
        let t_squared = 2.5_f64.powi(2) * 4.0 / (5.0 / 3.0);
        let by_hand =
            ((1.0 + t_squared / 3.0) / (1.0 + t_squared / 123.0)).powi(2) / 41.0_f64.sqrt();
        assert!((of_mean(&values) - by_hand).abs() < 1e-9);
        assert!(of_mean(&[-1.0, -2.0]) < 1e-12 && of_mean(&[1.0]) < 1e-12);
    }
}
