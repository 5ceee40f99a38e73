//! Lines against bounds that a clock of known drift gives.

use proptest::prelude::*;

use super::*;

/// Bounds of a clock that is `line` ahead: (time, delay, way).
fn bounds_of(line: Line, mut packets: Vec<(i64, i64, bool)>) -> Vec<Bound> {
    packets.sort_unstable();
    let bound = |(time, delay, is_upper)| {
        let ahead = (line.ahead_ns + line.drift * time as f64).round() as i64;
        Bound { time, ahead: if is_upper { ahead + delay } else { ahead - delay }, is_upper }
    };
    packets.into_iter().map(bound).collect()
}

fn packets() -> impl Strategy<Value = Vec<(i64, i64, bool)>> {
    let delay = prop_oneof![1_000_i64..10_000, 1_000_i64..10_000_000];
    prop::collection::vec((0_i64..10_000_000_000, delay, any::<bool>()), 2..300)
}

fn line() -> impl Strategy<Value = Line> {
    let drift = (-400_i64..400).prop_map(|ppm| ppm as f64 * 1e-6);
    ((-1e9_f64..1e9), drift).prop_map(|(ahead_ns, drift)| Line { ahead_ns, drift })
}

proptest! {
    /// No packet contradicts the line, and the truth is no farther away than said.
    #[test]
    fn the_truth_is_within_the_uncertainty(line in line(), packets in packets()) {
        let bounds = bounds_of(line, packets);
        let fit = Channel::of(&bounds).fit().expect("the clock's own line fits");
        for bound in &bounds {
            let at = |line: Line| line.ahead_ns + line.drift * bound.time as f64;
            let ahead = bound.ahead as f64;
            let excess = if bound.is_upper { at(fit.line) - ahead } else { ahead - at(fit.line) };
            prop_assert!(excess < 0.01, "{:?} is beyond {:?}", fit.line, bound);
            if let Some(uncertainty_ns) = fit.uncertainty_ns {
                prop_assert!((at(fit.line) - at(line)).abs() <= uncertainty_ns + 1.0);
            }
        }
        if let Some(uncertainty) = fit.drift_uncertainty {
            prop_assert!((fit.line.drift - line.drift).abs() <= uncertainty + 1e-9);
        }
    }

    /// More packets never leave more room.
    #[test]
    fn more_bounds_fit_fewer_lines(packets in packets(), jump in 20_000_000_i64..1_000_000_000) {
        let mut bounds = bounds_of(Line::default(), packets);
        let middle = bounds.len() / 2;
        bounds[middle..].iter_mut().for_each(|bound| bound.ahead += jump);
        let open: Vec<bool> =
            (1..=bounds.len()).map(|count| Channel::of(&bounds[..count]).is_open()).collect();
        prop_assert!(open.is_sorted_by(|one, other| one >= other));
    }
}

/// Packets every millisecond both ways, one in ten without waiting.
fn busy(count: i64) -> Vec<(i64, i64, bool)> {
    let delay = |number: i64| 5_000 + number % 10 * 37_000;
    (0..count).map(|number| (number * 1_000_000, delay(number * 7), number % 3 == 0)).collect()
}

#[test]
fn a_drift_is_found_to_the_billionth_part() {
    let line = Line { ahead_ns: 37e6, drift: 40e-6 };
    let fit = Channel::of(&bounds_of(line, busy(10_000))).fit().unwrap();
    assert!((fit.line.ahead_ns - 37e6).abs() < 100.0, "{fit:?}");
    assert!((fit.line.drift - 40e-6).abs() < 10e-9, "{fit:?}");
    assert!(fit.uncertainty_ns.unwrap() < 6_000.0, "{fit:?}");
}

#[test]
fn a_drift_that_is_too_small_to_see_is_none() {
    let line = Line { ahead_ns: -3e6, drift: 10e-9 };
    let fit = Channel::of(&bounds_of(line, busy(1_000))).fit().unwrap();
    assert_eq!(fit.line.drift, 0.0);
    assert!(fit.drift_uncertainty.unwrap() > 10e-9);
}

#[test]
fn one_way_gives_the_shortest_delay_as_offset() {
    let line = Line { ahead_ns: 2e6, drift: 20e-6 };
    let mut packets = busy(1_000);
    packets.iter_mut().for_each(|packet| packet.2 = false);
    let fit = Channel::of(&bounds_of(line, packets)).fit().unwrap();
    assert_eq!((fit.uncertainty_ns, fit.drift_uncertainty), (None, None));
    assert!((fit.line.ahead_ns - (2e6 - 5_000.0)).abs() < 1_000.0, "{fit:?}");
    assert!((fit.line.drift - 20e-6).abs() < 1e-6, "{fit:?}");
}
