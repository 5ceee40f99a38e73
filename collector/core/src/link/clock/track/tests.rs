//! Tracks of clocks that are known.

use proptest::prelude::*;

use super::super::sighting::Way;
use super::*;

const START: u64 = 1_700_000_000_000_000_000;

/// Packets both ways every 100 us between a tap that is right and one that is `ahead`, with delays
/// of 5 us and more.
fn talk(ahead: impl Fn(u64) -> i64) -> Vec<Pair> {
    let packet = |number: u64| {
        let is_upward = number.is_multiple_of(2);
        let (left, delay) = (START + number * 50_000, 5_000 + number * 7 % 11 * 3_000);
        let (right, wrong) = if is_upward { (left, left + delay) } else { (left + delay, left) };
        let wrong = wrong.saturating_add_signed(ahead(wrong - START));
        let times = [right, wrong].map(Timestamp::from_nanos);
        Pair { way: Way { route: 0, is_upward }, times }
    };
    (0..40_000).map(packet).collect()
}

fn track(pairs: &[Pair], which: usize) -> Result<Track, WhyUnknown> {
    let times = || pairs.iter().map(|pair| pair.times[which]);
    let frames = Span { first: times().min().unwrap(), last: times().max().unwrap() };
    Track::between(pairs, &Upstream::from([(0, true)]), which, frames)
}

#[test]
fn each_of_two_clocks_is_as_far_ahead_as_the_other_is_behind() {
    let pairs = talk(|since| 37_000_000 + since as i64 / 25_000);
    let [behind, ahead] = [0, 1].map(|which| track(&pairs, which).unwrap());
    for pair in pairs.iter().step_by(1_000) {
        let [right, wrong] = pair.times;
        let sum = behind.ahead_at(right) + ahead.ahead_at(wrong);
        assert!(sum.abs() < 1_000, "{sum}");
    }
    assert!((ahead.drift_at(Timestamp::EPOCH) - 40e-6).abs() < 1e-6, "{ahead:?}");
    assert!(ahead.uncertainty_ns.unwrap() < 8_000, "{ahead:?}");
}

#[test]
fn jumps_ahead_are_followed() {
    let ahead = |since| match since {
        0..500_000_000 => 0,
        500_000_000..1_200_000_000 => 40_000_000,
        _ => 2_000_000_000,
    };
    let found = track(&talk(ahead), 1).unwrap();
    assert_eq!(found.pieces.len(), 3, "{found:?}");
    for since in
        [100_000_000, 499_900_000, 500_100_000, 1_199_900_000, 1_200_100_000, 1_900_000_000]
    {
        let shown = START.saturating_add_signed(since).saturating_add_signed(ahead(since as u64));
        let error = found.ahead_at(Timestamp::from_nanos(shown)) - ahead(since as u64);
        assert!(error.abs() < 10_000, "{error} at {since}: {found:?}");
    }
}

#[test]
fn a_clock_that_wanders_is_refused() {
    let swings = |since: u64| ((since as f64 / 1e7).sin() * 1e6) as i64;
    assert_eq!(track(&talk(swings), 1), Err(WhyUnknown::NoLineFits));
}

#[test]
fn clocks_that_no_packet_contradicts_are_one() {
    let found = track(&talk(|_| 4_000), 1).unwrap();
    assert_eq!(found.pieces, []);
    assert!(found.uncertainty_ns.unwrap() > 4_000, "{found:?}");
    assert_ne!(track(&talk(|_| 9_000), 1).unwrap().pieces, []);
}

fn some_track() -> impl Strategy<Value = Track> {
    let piece = (0_u64..2_000_000_000, -5_000_000_000_i64..5_000_000_000, -400_i32..400);
    let piece = piece.prop_map(|(start, ahead_ns, ppm)| Piece {
        start: Timestamp::from_nanos(START + start),
        ahead_ns,
        drift: f64::from(ppm) * 1e-6,
    });
    prop::collection::vec(piece, 0..2).prop_map(|pieces| Track { pieces, ..Track::default() })
}

proptest! {
    /// Going to the third clock at once is going to the second one first.
    #[test]
    fn one_after_the_other(near in some_track(), far in some_track(), since in 0_u64..9_000_000_000) {
        let time = Timestamp::from_nanos(START + since);
        let (at_once, one_by_one) = (near.then(&far).other_at(time), far.other_at(near.other_at(time)));
        prop_assert!(at_once.relative_to(one_by_one).abs() <= 3, "{at_once} {one_by_one}");
    }
}
