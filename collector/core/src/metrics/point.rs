//! Points: values at a time, as exporters write them.

use super::metric::Metric;
use crate::model::time::Timestamp;

/// Attributes of a series with their values, ascending by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attributes(Vec<(&'static str, String)>);

/// A value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its entry in the catalogue.
    pub metric: &'static Metric,
    /// Its series.
    pub attributes: Attributes,
    /// Start of counting; for gauges the same as `time`.
    pub start: Timestamp,
    /// Time of the value.
    pub time: Timestamp,
    /// The value, in the unit as kept.
    pub value: Value,
}

/// A value, in the unit as kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// For counters and gauges.
    Number(u64),
    /// For histograms.
    Distribution(Distribution),
}

/// Counts of values by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Inclusive upper bounds of all buckets but the last, which has none.
    pub bounds: &'static [u64],
    /// Values in each bucket; one more than there are bounds.
    pub counts: Vec<u64>,
    /// Sum of the values.
    pub sum: u64,
}

impl Attributes {
    /// `attributes` in order.
    pub fn new(attributes: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let mut attributes: Vec<_> = attributes.into_iter().collect();
        attributes.sort_unstable();
        Self(attributes)
    }

    /// Names with values, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

impl Distribution {
    /// A distribution without values.
    #[must_use]
    pub fn new(bounds: &'static [u64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0 }
    }

    /// Counts `value` in its bucket and adds it to the sum.
    pub fn add(&mut self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(value);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_that_reaches_it() {
        let mut values = Distribution::new(&[10, 20]);
        [0, 10, 11, 20, 21, u64::MAX].into_iter().for_each(|value| values.add(value));
        assert_eq!((values.counts.as_slice(), values.count()), (&[2, 2, 2][..], 6));
        assert_eq!(values.sum, u64::MAX, "held where it ends");
    }
}
