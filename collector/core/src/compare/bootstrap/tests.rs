//! Properties of the bootstrap, and how often its intervals hold the truth.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn of(before: &[f64], after: &[f64]) -> Result<Estimate, TooLittle> {
    estimate(&Sample::new(before), &Sample::new(after), 1)
}

/// Roughly normal, mean 0, variance 1: twelve even numbers.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.bits() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
}

/// Steps of 10 ms whose chance is `correlation` times that of the step before, and new.
fn series(count: usize, correlation: f64, random: &mut Random) -> Vec<f64> {
    let mut before = normal(random);
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut next = || {
        before = correlation * before + fresh * normal(random);
        10e6 + 3e5 * before
    };
    (0..count).map(|_| next()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn identical_inputs_are_no_difference(values in vec(0.0..1e9_f64, 5..60)) {
        let one = of(&values, &values).unwrap();
        prop_assert_eq!(one.change, 0.0);
        prop_assert!(one.probability > 0.5, "{:?}", one);
        prop_assert!(one.interval[0] <= 0.0 && one.interval[1] >= 0.0, "{:?}", one);
    }

    #[test]
    fn intervals_hold_the_point_and_agree_on_zero(
        before in vec(1e5..2e6_f64, 5..40), after in vec(1e5..2e6_f64, 5..40),
    ) {
        let one = of(&before, &after).unwrap();
        let [low, high] = one.interval;
        prop_assert!(low <= one.change && one.change <= high, "{:?}", one);
        prop_assert_eq!(one.probability <= 0.05, low > 0.0 || high < 0.0, "{:?}", one);
        if let Some([least, most]) = one.ratio {
            let point = 1.0 + one.change / Sample::new(&before).mean();
            prop_assert!(least <= point * (1.0 + 1e-9) && point <= most * (1.0 + 1e-9), "{:?}", one);
            prop_assert_eq!(low > 0.0, least > 1.0, "{:?}", one);
            prop_assert_eq!(high < 0.0, most < 1.0, "{:?}", one);
        }
    }

    /// Backwards in time, neighbours are the same.
    #[test]
    fn time_may_run_backwards(before in vec(0.0..1e6_f64, 5..40), after in vec(0.0..1e6_f64, 5..40)) {
        let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
        let (one, other) = (of(&before, &after), of(&reversed(&before), &reversed(&after)));
        let (one, other) = (one.unwrap(), other.unwrap());
        prop_assert!((one.change - other.change).abs() <= 1e-6, "{:?} {:?}", one, other);
        let width = |one: &Estimate| one.interval[1] - one.interval[0];
        prop_assert!((width(&one) / width(&other) - 1.0).abs() < 1e-6, "{:?} {:?}", one, other);
    }

    #[test]
    fn a_unit_changes_nothing(before in vec(1.0..1e3_f64, 5..20), after in vec(1.0..1e3_f64, 5..20)) {
        let scaled = |values: &[f64]| values.iter().map(|one| one * 1024.0).collect::<Vec<_>>();
        let (one, other) = (of(&before, &after), of(&scaled(&before), &scaled(&after)));
        let (one, other) = (one.unwrap(), other.unwrap());
        prop_assert!((one.interval[0] * 1024.0 - other.interval[0]).abs() < 1e-3);
        prop_assert_eq!(one.probability, other.probability);
    }
}

#[test]
fn few_values_and_rare_events_are_no_evidence() {
    assert_eq!(of(&[1.0; 4], &[1.0; 9]), Err(TooLittle::Values));
    let mut rare = [0.0; 30];
    rare[3] = 9.0;
    assert_eq!(of(&rare, &[0.0; 30]), Err(TooLittle::Events));
    let none = of(&[0.0; 30], &[0.0; 30]).unwrap();
    assert_eq!((none.change, none.probability), (0.0, 1.0));
    let certain = of(&[2.0; 30], &[3.0; 30]).unwrap();
    assert!(certain.probability < 0.001 && certain.ratio == Some([1.5, 1.5]), "{certain:?}");
}

/// Jobs of 30 steps that vary by 3 %: equal ones, and ones that are 5 % slower.
#[test]
fn false_differences_are_few_and_five_percent_is_found() {
    for (correlation, most_false, least_found) in [(0.0, 12, 195), (0.3, 15, 190), (0.6, 22, 140)] {
        let (mut wrong, mut found, mut held) = (0, 0, 0);
        for seed in 0..200 {
            let mut random = Random::new(seed * 3 + 1);
            let before = series(30, correlation, &mut random);
            let after = series(30, correlation, &mut random);
            let slower: Vec<f64> = series(30, correlation, &mut random);
            let slower: Vec<f64> = slower.iter().map(|one| one + 5e5).collect();
            wrong += u32::from(of(&before, &after).unwrap().probability <= 0.05);
            let one = of(&before, &slower).unwrap();
            found += u32::from(one.interval[0] > 0.0);
            held += u32::from(one.interval[0] <= 5e5 && 5e5 <= one.interval[1]);
        }
        assert!(wrong <= most_false, "{correlation}: {wrong} of 200 equal jobs differ");
        assert!(found >= least_found, "{correlation}: {found} of 200 slower jobs are found");
        assert!(held + most_false >= 200, "{correlation}: {held} of 200 intervals hold the truth");
    }
}
