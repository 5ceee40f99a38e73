//! Lines against bounds that a clock of known drift gives.

use proptest::prelude::*;

use super::*;

/// Bounds of a clock that is `line` ahead: (time, delay, way).
fn bounds_of(line: Line, mut packets: Vec<(i64, i64, bool)>) -> Vec<Bound> {
    packets.sort_unstable();
    let bound = |(time, delay, is_upper)| {
        let ahead = line.at(time as f64).round() as i64;
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
    /// No packet contradicts the line, and the truth lies within the reported uncertainty.
    #[test]
    fn the_truth_is_within_the_doubt(truth in line(), packets in packets()) {
        let bounds = bounds_of(truth, packets);
        let channel = Channel::from_bounds(&bounds);
        let line = channel.line().expect("the clock's own line fits");
        for bound in &bounds {
            let excess = line.at(bound.time as f64) - bound.ahead as f64;
            prop_assert!(if bound.is_upper { excess } else { -excess } < 0.01, "{line:?} {bound:?}");
        }
        let ends = (-1_000_000_000, 11_000_000_000);
        if let Some(doubt) = channel.doubt(line, ends) {
            // A nanosecond for the rounding of bounds, more where they are close together in time.
            let span = (bounds[bounds.len() - 1].time - bounds[0].time) as f64;
            prop_assume!(span > 1e9);
            for time in [ends.0, bounds[0].time, 5_000_000_000, ends.1] {
                let error = (line.at(time as f64) - truth.at(time as f64)).abs();
                prop_assert!(error <= doubt.ahead_ns + 24.0, "{error} ns at {time}: {doubt:?}");
            }
            prop_assert!((line.drift - truth.drift).abs() <= doubt.drift + 2e-9);
        }
    }

    /// More packets never leave more room.
    #[test]
    fn more_bounds_fit_fewer_lines(packets in packets(), jump in 20_000_000_i64..1_000_000_000) {
        let mut bounds = bounds_of(Line::default(), packets);
        let middle = bounds.len() / 2;
        bounds[middle..].iter_mut().for_each(|bound| bound.ahead += jump);
        let open: Vec<bool> =
            (1..=bounds.len()).map(|count| Channel::from_bounds(&bounds[..count]).is_open()).collect();
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
    let channel = Channel::from_bounds(&bounds_of(line, busy(10_000)));
    let found = channel.line().unwrap();
    assert!((found.ahead_ns - 37e6).abs() < 100.0, "{found:?}");
    assert!((found.drift - 40e-6).abs() < 10e-9, "{found:?}");
    let doubt = channel.doubt(found, (0, 10_000_000_000)).unwrap();
    assert!(doubt.ahead_ns < 6_000.0, "{doubt:?}");
}

#[test]
fn a_drift_that_is_too_small_to_see_is_none() {
    let line = Line { ahead_ns: -3e6, drift: 10e-9 };
    let channel = Channel::from_bounds(&bounds_of(line, busy(1_000)));
    let found = channel.line().unwrap();
    assert_eq!(found.drift, 0.0);
    assert!(channel.doubt(found, (0, 1_000_000_000)).unwrap().drift > 10e-9);
}

#[test]
fn one_way_gives_the_shortest_delay_as_offset() {
    let line = Line { ahead_ns: 2e6, drift: 20e-6 };
    let mut packets = busy(1_000);
    packets.iter_mut().for_each(|packet| packet.2 = true);
    let channel = Channel::from_bounds(&bounds_of(line, packets));
    let found = channel.line().unwrap();
    assert_eq!(channel.doubt(found, (0, 1_000_000_000)), None);
    assert!((found.ahead_ns - (2e6 + 5_000.0)).abs() < 1_000.0, "{found:?}");
    assert!((found.drift - 20e-6).abs() < 1e-6, "{found:?}");
}
