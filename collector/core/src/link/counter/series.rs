//! One counter over time.

use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// A counter that drops from the last quarter of 32 bits to the first has wrapped (some counters of
/// mlx5's queue pairs have 32 bits); any other drop is a reset.
const WRAP: u64 = 1 << 32;

/// One counter over time, without its resets: the increase since the first sample.
#[derive(Clone, Debug)]
pub struct Series {
    /// Times and sums, ascending.
    points: Vec<(Timestamp, u64)>,
    last_time: Timestamp,
    last_value: u64,
    samples: u64,
    first_rise: Option<Witness>,
    resets: u64,
    wraps: u64,
}

impl Series {
    /// A counter that stood at `value` at `time`.
    #[must_use]
    pub fn new(time: Timestamp, value: u64) -> Self {
        Self {
            points: vec![(time, 0)],
            last_time: time,
            last_value: value,
            samples: 1,
            first_rise: None,
            resets: 0,
            wraps: 0,
        }
    }

    /// The counter was `value` at `time`, which is not before any other sample; returns whether a
    /// point was added.
    pub fn add(&mut self, time: Timestamp, value: u64, witness: Witness) -> bool {
        let rise = match value.checked_sub(self.last_value) {
            Some(rise) => rise,
            None if self.last_value < WRAP
                && self.last_value >= WRAP / 4 * 3
                && value < WRAP / 4 =>
            {
                self.wraps += 1;
                value + WRAP - self.last_value
            }
            // Its increase before the reset is unknown.
            None => {
                self.resets += 1;
                0
            }
        };
        self.samples += u64::from(time > self.last_time);
        (self.last_time, self.last_value) = (time, value);
        if rise > 0 && self.first_rise.is_none() {
            self.first_rise = Some(witness);
        }
        let sum = self.rise().saturating_add(rise);
        // A constant period needs only its two ends.
        if let [.., (_, before), (last_time, last)] = self.points.as_mut_slice()
            && *before == sum
            && *last == sum
        {
            *last_time = time;
            return false;
        }
        self.points.push((time, sum));
        true
    }

    /// Drops points not needed for spans from `time` on; returns their number. The total increase
    /// stays.
    pub fn forget_before(&mut self, time: Timestamp) -> usize {
        let before = self.points.partition_point(|(known, _)| *known <= time);
        // The last of them is the start of the first span.
        let forgotten = before.saturating_sub(1);
        self.points.drain(..forgotten);
        forgotten
    }

    /// Increase from the first sample to the last.
    #[must_use]
    pub fn rise(&self) -> u64 {
        self.points.last().map_or(0, |(_, sum)| *sum)
    }

    /// Increase in `span`; `None` if the samples do not cover it.
    #[must_use]
    pub fn delta(&self, span: Span) -> Option<u64> {
        Some(self.at(span.last)?.saturating_sub(self.at(span.first)?))
    }

    /// Increase up to `time`, interpolated between samples.
    fn at(&self, time: Timestamp) -> Option<u64> {
        let after = self.points.partition_point(|(known, _)| *known < time);
        let (later, end) = *self.points.get(after)?;
        if later == time {
            return Some(end);
        }
        let (earlier, start) = *self.points.get(after.checked_sub(1)?)?;
        let part = u128::from(end - start) * u128::from(time.nanos_since(earlier));
        Some(start + (part / u128::from(later.nanos_since(earlier).max(1))) as u64)
    }

    /// Increases between consecutive kept points, with their times.
    pub fn rises(&self) -> impl Iterator<Item = (Span, u64)> {
        self.points.windows(2).filter_map(|pair| match pair {
            [(first, start), (last, end)] => {
                Some((Span { first: *first, last: *last }, end - start))
            }
            _ => None,
        })
    }

    /// The first sample with an increase.
    #[must_use]
    pub const fn first_rise(&self) -> Option<Witness> {
        self.first_rise
    }

    /// Number of resets.
    #[must_use]
    pub const fn resets(&self) -> u64 {
        self.resets
    }

    /// Number of wraps at 32 bits.
    #[must_use]
    pub const fn wraps(&self) -> u64 {
        self.wraps
    }

    /// Number of samples.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// The time of the last sample.
    #[must_use]
    pub const fn last_time(&self) -> Timestamp {
        self.last_time
    }

    /// The value of the last sample.
    #[must_use]
    pub const fn last_value(&self) -> u64 {
        self.last_value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::witness::Witness;

    fn series(points: &[(u64, u64)]) -> Series {
        let time = Timestamp::from_nanos;
        let mut all = points.iter();
        let (first, value) = all.next().unwrap();
        let mut series = Series::new(time(*first), *value);
        for (number, (at, value)) in (2..).zip(all) {
            let witness = Witness::Sample { file: 0, number, time: time(*at) };
            series.add(time(*at), *value, witness);
        }
        series
    }

    fn delta(series: &Series, first: u64, last: u64) -> Option<u64> {
        let time = Timestamp::from_nanos;
        series.delta(Span { first: time(first), last: time(last) })
    }

    #[test]
    fn a_counter_rises_evenly_between_samples_and_is_unknown_beyond_them() {
        let series = series(&[(100, 5), (200, 15), (300, 15), (400, 15), (500, 35)]);
        assert_eq!(delta(&series, 100, 500), Some(30));
        assert_eq!(delta(&series, 150, 200), Some(5));
        assert_eq!(delta(&series, 200, 400), Some(0));
        assert_eq!(delta(&series, 250, 450), Some(10));
        assert_eq!(delta(&series, 99, 200), None);
        assert_eq!(delta(&series, 100, 501), None);
    }

    #[test]
    fn spans_after_what_is_forgotten_stay_what_they_were() {
        let all = [(100, 5), (200, 15), (300, 45), (400, 45), (500, 65)];
        for time in [0, 100, 150, 200, 399, 500, 900] {
            let (mut some, all) = (series(&all), series(&all));
            some.forget_before(Timestamp::from_nanos(time));
            assert_eq!((some.rise(), some.samples()), (60, 5));
            for first in (time.max(100)..500).step_by(50) {
                assert_eq!(delta(&some, first, 500), delta(&all, first, 500), "{time} {first}");
            }
        }
        let mut some = series(&all);
        assert_eq!(some.forget_before(Timestamp::from_nanos(399)), 2);
        assert_eq!(delta(&some, 299, 400), None);
    }

    #[test]
    fn wraps_go_on_and_resets_add_nothing() {
        let wrapped = series(&[(1, WRAP - 10), (2, 5)]);
        assert_eq!((wrapped.rise(), wrapped.wraps(), wrapped.resets()), (15, 1, 0));
        let reset = series(&[(1, 1000), (2, 7), (3, 9)]);
        assert_eq!((reset.rise(), reset.wraps(), reset.resets()), (2, 0, 1));
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole(values in proptest::collection::vec(0_u64..1000, 2..50)) {
            let mut sum = 0;
            let points: Vec<(u64, u64)> = (1..).zip(values.iter().map(|rise| {
                sum += rise % 3 * rise;
                sum
            })).map(|(at, sum)| (at * 100, sum)).collect();
            let series = series(&points);
            let last = points.last().unwrap().0;
            prop_assert_eq!(delta(&series, 100, last), Some(series.rise()));
            for middle in (100..last).step_by(37) {
                let parts = delta(&series, 100, middle).unwrap() + delta(&series, middle, last).unwrap();
                prop_assert_eq!(parts, series.rise());
            }
        }
    }
}
