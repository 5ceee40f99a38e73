//! Points as OTLP metrics: cumulative sums and histograms, and gauges.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as ProtoNumber;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric as ProtoMetric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};

use super::attributes::{Attributes, integer};
use super::batch::{Batch, ITEMS, Signal};
use super::resource::{self, Resource};
use railscope_core::metrics::metric::{Instrument, Metric, Unit};
use railscope_core::metrics::point::{Distribution, Point, Value};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// `points` as requests.
#[must_use]
pub fn batches(points: &[Point], resource: &Resource) -> Vec<Batch> {
    points.chunks(ITEMS).map(|points| batch(points, resource)).collect()
}

fn batch(points: &[Point], resource: &Resource) -> Batch {
    let of_metrics = points.chunk_by(|one, next| one.metric.name == next.metric.name);
    let metrics = of_metrics.filter_map(|points| Some(metric(points.first()?.metric, points)));
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource.to_proto()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(resource::scope()),
                metrics: metrics.collect(),
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    };
    Batch::new(Signal::Metrics, points.len(), &request)
}

fn metric(metric: &Metric, points: &[Point]) -> ProtoMetric {
    let numbers = || points.iter().filter_map(|point| number(metric, point)).collect();
    let data = match metric.instrument {
        Instrument::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Instrument::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Instrument::Histogram(_) => Data::Histogram(Histogram {
            data_points: points.iter().filter_map(|point| histogram(metric, point)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    ProtoMetric {
        name: metric.name.to_owned(),
        description: metric.about.to_owned(),
        unit: metric.unit.ucum().into_owned(),
        metadata: Vec::new(),
        data: Some(data),
    }
}

fn number(metric: &Metric, point: &Point) -> Option<NumberDataPoint> {
    let Value::Number(number) = &point.value else { return None };
    let value = metric.unit.scaled(*number);
    let is_gauge = metric.instrument == Instrument::Gauge;
    Some(NumberDataPoint {
        attributes: attributes(point),
        // A gauge has no start.
        start_time_unix_nano: if is_gauge { 0 } else { point.start.as_nanos() },
        time_unix_nano: point.time.as_nanos(),
        value: Some(
            value.map_or_else(|| ProtoNumber::AsInt(integer(*number)), ProtoNumber::AsDouble),
        ),
        ..NumberDataPoint::default()
    })
}

fn histogram(metric: &Metric, point: &Point) -> Option<HistogramDataPoint> {
    let Value::Distribution(Distribution { bounds, counts, sum }) = &point.value else {
        return None;
    };
    Some(HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: point.start.as_nanos(),
        time_unix_nano: point.time.as_nanos(),
        count: counts.iter().sum(),
        sum: Some(double(metric.unit, *sum)),
        bucket_counts: counts.clone(),
        explicit_bounds: bounds.iter().map(|bound| double(metric.unit, *bound)).collect(),
        ..HistogramDataPoint::default()
    })
}

/// As in Prometheus's text format.
fn double(unit: Unit, kept: u64) -> f64 {
    unit.scaled(kept).unwrap_or(kept as f64)
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    let mut attributes = Attributes::default();
    for (name, value) in point.attributes.iter() {
        attributes.text(name, value);
    }
    attributes.take()
}
