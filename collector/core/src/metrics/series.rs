//! All series with their values; each metric is bounded.

use std::collections::BTreeMap;

use super::Settings;
use super::attribute::{self, Attribute};
use super::catalog;
use super::metric::{Instrument, Metric};
use super::point::{Attributes, Distribution, Point, Value};
use crate::model::time::Timestamp;

/// All series and their values.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    /// By name of the metric.
    metrics: BTreeMap<&'static str, Kept>,
    refused: u64,
}

/// The series of one metric.
#[derive(Clone, Debug)]
struct Kept {
    metric: &'static Metric,
    series: BTreeMap<Attributes, Value>,
}

impl SeriesTable {
    /// Adds to a counter; adding 0 creates it.
    pub(super) fn add(&mut self, metric: &'static Metric, attributes: Attributes, amount: u64) {
        if let Some(Value::Number(number)) = self.value(metric, attributes) {
            *number = number.saturating_add(amount);
        }
    }

    /// Sets a gauge, or a counter that is kept elsewhere.
    pub(super) fn set(&mut self, metric: &'static Metric, attributes: Attributes, to: u64) {
        if let Some(Value::Number(number)) = self.value(metric, attributes) {
            *number = to;
        }
    }

    /// Raises a gauge to at least `to`.
    pub(super) fn raise(&mut self, metric: &'static Metric, attributes: Attributes, to: u64) {
        if let Some(Value::Number(number)) = self.value(metric, attributes) {
            *number = to.max(*number);
        }
    }

    /// Adds a value to a histogram.
    pub(super) fn record(&mut self, metric: &'static Metric, attributes: Attributes, value: u64) {
        if let Some(Value::Distribution(distribution)) = self.value(metric, attributes) {
            distribution.add(value);
        }
    }

    /// Removes `metrics`: a gauge that no longer holds has no point.
    pub(super) fn clear(&mut self, metrics: &[&'static Metric]) {
        for metric in metrics {
            self.metrics.remove(metric.name);
        }
    }

    /// The value of a series; `None` if the metric has too many series.
    fn value(&mut self, metric: &'static Metric, attributes: Attributes) -> Option<&mut Value> {
        let new = || Kept { metric, series: BTreeMap::new() };
        let Kept { series, .. } = self.metrics.entry(metric.name).or_insert_with(new);
        if !series.contains_key(&attributes) && series.len() as u64 >= metric.largest_bound() {
            self.refused += 1;
            return None;
        }
        Some(series.entry(attributes).or_insert_with(|| match metric.instrument {
            Instrument::Counter | Instrument::Gauge => Value::Number(0),
            Instrument::Histogram(bounds) => Value::Distribution(Distribution::new(bounds)),
        }))
    }

    /// All series, by metric and attributes.
    #[must_use]
    pub fn points(&self, start: Timestamp, time: Timestamp) -> Vec<Point> {
        let all = self.metrics.values().flat_map(|Kept { metric, series }| {
            series
                .iter()
                .map(move |(attributes, value)| (*metric, attributes.clone(), value.clone()))
        });
        let refused = (self.refused > 0).then(|| {
            (&catalog::SERIES_REFUSED, Attributes::default(), Value::Number(self.refused))
        });
        let point = |(metric, attributes, value): (&'static Metric, Attributes, Value)| {
            let is_gauge = metric.instrument == Instrument::Gauge;
            Point { metric, attributes, start: if is_gauge { time } else { start }, time, value }
        };
        all.chain(refused).map(point).collect()
    }
}

/// An owner's attributes that are known and turned on.
pub(super) fn owner_attributes(
    settings: &Settings,
    communicator: Option<&str>,
    rank: Option<u32>,
    peer: Option<u32>,
    channel: Option<u32>,
) -> Vec<(&'static str, String)> {
    let number = |is_on: bool, attribute: &Attribute, number: Option<u32>| {
        Some((attribute.name, number.filter(|_| is_on)?.to_string()))
    };
    let communicator = communicator.filter(|_| settings.ranks);
    let known = [
        communicator.map(|id| (attribute::COMMUNICATOR.name, id.to_owned())),
        number(settings.ranks, &attribute::RANK, rank),
        number(settings.peers, &attribute::PEER, peer),
        number(settings.channels, &attribute::CHANNEL, channel),
    ];
    known.into_iter().flatten().collect()
}
