//! Quantiles of durations in little memory: a log-linear histogram that stores only the buckets in
//! use.
//!
//! Each octave has 64 buckets, so a quantile is at most 1.6 % above the true value. A flow's round
//! trips are close together: some tens of buckets of 4 bytes, where a dense histogram takes 16 KiB.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Samples that are sorted in together.
const BATCH: usize = 16;

/// Buckets for which room is made at a time: most flows stay as they are for long.
const ROOM: usize = 16;

/// A histogram of nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DurationHistogram {
    /// All samples but those of the latest batch; `None` before the first batch is full. Copies share them.
    counts: Option<Arc<Counts>>,
    /// Buckets of the latest `samples % BATCH` samples.
    latest: [u16; BATCH],
    samples: u64,
    min_ns: u64,
    max_ns: u64,
}

/// Samples by bucket.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Counts {
    /// (bucket, samples modulo 2^16), ascending: few buckets of few flows have more.
    low: Vec<(u16, u16)>,
    /// (bucket, 2^16 samples each), ascending.
    high: Vec<(u16, u32)>,
}

impl Counts {
    /// Counts a sample in each of `latest`.
    fn add(&mut self, latest: &[u16]) {
        for bucket in latest {
            match self.low.binary_search_by_key(bucket, |(known, _)| *known) {
                Ok(at) => {
                    let count = &mut self.low[at].1;
                    *count = count.wrapping_add(1);
                    if *count == 0 {
                        self.carry(*bucket);
                    }
                }
                Err(at) => {
                    if self.low.len() == self.low.capacity() {
                        self.low.reserve_exact(ROOM);
                    }
                    self.low.insert(at, (*bucket, 1));
                }
            }
        }
    }

    #[cold]
    fn carry(&mut self, bucket: u16) {
        match self.high.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(at) => self.high[at].1 = self.high[at].1.saturating_add(1),
            Err(at) => self.high.insert(at, (bucket, 1)),
        }
    }

    /// (bucket, samples), ascending.
    fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.low.iter().map(|(bucket, low)| {
            let high = self.high.binary_search_by_key(bucket, |(known, _)| *known);
            let high = high.map_or(0, |at| u64::from(self.high[at].1));
            (*bucket, (high << u16::BITS) + u64::from(*low))
        })
    }
}

/// log2 of the buckets in an octave.
const PRECISION_BITS: u32 = 6;

impl DurationHistogram {
    /// Adds a duration.
    pub fn record(&mut self, nanos: u64) {
        self.min_ns = if self.samples == 0 { nanos } else { self.min_ns.min(nanos) };
        self.max_ns = self.max_ns.max(nanos);
        self.latest[self.samples as usize % BATCH] = bucket_of(nanos);
        self.samples += 1;
        if self.samples.is_multiple_of(BATCH as u64) {
            Arc::make_mut(self.counts.get_or_insert_default()).add(&self.latest);
        }
    }

    /// Durations recorded.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// The shortest duration; `None` when there is none.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (self.samples > 0).then_some(self.min_ns)
    }

    /// The longest duration; `None` when there is none.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.samples > 0).then_some(self.max_ns)
    }

    /// The duration that a `fraction` (0 ..= 1) of the samples do not exceed, at most 1.6 % too
    /// large; `None` without samples.
    #[must_use]
    pub fn quantile_ns(&self, fraction: f64) -> Option<u64> {
        let wanted = (self.samples as f64 * fraction).ceil().max(1.0) as u64;
        let mut latest = self.latest;
        let latest = &mut latest[..self.samples as usize % BATCH];
        latest.sort_unstable();
        let mut latest = latest.iter().map(|bucket| (*bucket, 1)).peekable();
        let mut sorted = self.counts.iter().flat_map(|counts| counts.iter()).peekable();
        let mut seen = 0;
        let next = || match (sorted.peek(), latest.peek()) {
            (Some((bucket, _)), Some((late, _))) if late < bucket => latest.next(),
            (None, _) => latest.next(),
            _ => sorted.next(),
        };
        for (bucket, count) in std::iter::from_fn(next) {
            seen += count;
            if seen >= wanted {
                return Some(upper_edge(bucket).clamp(self.min_ns, self.max_ns));
            }
        }
        self.max_ns()
    }
}

/// The bucket of a value: values below 2^6 have one each; above, the octave and the six bits below
/// the leading one.
fn bucket_of(value: u64) -> u16 {
    let octave = u64::BITS - (value >> PRECISION_BITS).leading_zeros();
    if octave == 0 {
        return value as u16;
    }
    let mantissa = (value >> (octave - 1)) & ((1 << PRECISION_BITS) - 1);
    ((octave as u16) << PRECISION_BITS) | mantissa as u16
}

/// The largest value of a bucket.
fn upper_edge(bucket: u16) -> u64 {
    let octave = u32::from(bucket) >> PRECISION_BITS;
    let mantissa = u64::from(bucket) & ((1 << PRECISION_BITS) - 1);
    if octave == 0 {
        return mantissa;
    }
    let base = (1 << PRECISION_BITS) | mantissa;
    let shift = octave - 1;
    (base << shift) | ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_knows_nothing() {
        let histogram = DurationHistogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        assert_eq!(histogram.min_ns(), None);
    }

    #[test]
    fn a_bucket_may_have_many_samples() {
        let mut histogram = DurationHistogram::default();
        (0..300_000).for_each(|_| histogram.record(10));
        (0..100_000).for_each(|_| histogram.record(20));
        assert_eq!(histogram.quantile_ns(0.75), Some(10));
        assert_eq!(histogram.quantile_ns(0.76), Some(20));
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value: u64) {
            let bucket = bucket_of(value);
            prop_assert!(upper_edge(bucket) >= value);
            prop_assert!(bucket == 0 || upper_edge(bucket - 1) < value);
        }

        #[test]
        fn quantiles_are_close(mut values in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut histogram = DurationHistogram::default();
            for value in &values {
                histogram.record(*value);
            }
            values.sort_unstable();
            for fraction in [0.5, 0.99] {
                let rank = ((values.len() as f64 * fraction).ceil() as usize).max(1) - 1;
                let exact = values[rank];
                let found = histogram.quantile_ns(fraction).unwrap();
                prop_assert!(found >= exact && found as f64 <= exact as f64 * 1.017);
            }
        }
    }
}
