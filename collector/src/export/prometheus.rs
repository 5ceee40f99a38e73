//! Points in Prometheus's text format 0.0.4.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::printable::printable_lines;
use railscope_core::metrics::metric::{Instrument, Metric, Unit};
use railscope_core::metrics::point::{Attributes, Distribution, Point, Value};

/// The format's HTTP content type.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes `points`, which have one time and are in the order of their metrics, as
/// [`Accumulator::points`](railscope_core::metrics::accumulator::Accumulator::points) gives them.
///
/// # Errors
///
/// When writing fails.
pub fn write(points: &[Point], mut out: impl Write) -> io::Result<()> {
    for of_metric in points.chunk_by(|one, next| one.metric.name == next.metric.name) {
        let Some(Point { metric, .. }) = of_metric.first() else { continue };
        let name = metric.prometheus_name();
        writeln!(out, "# HELP {name} {}", escaped(metric.about, false))?;
        writeln!(out, "# TYPE {name} {}", kind(metric.instrument))?;
        for point in of_metric {
            match &point.value {
                Value::Number(number) => {
                    let value = Number(metric.unit, *number);
                    line(&mut out, &name, &point.attributes, None, &value)?;
                }
                Value::Distribution(values) => {
                    distribution(&mut out, metric, &name, &point.attributes, values)?;
                }
            }
        }
    }
    Ok(())
}

fn distribution(
    out: &mut impl Write,
    metric: &Metric,
    name: &str,
    attributes: &Attributes,
    values: &Distribution,
) -> io::Result<()> {
    let bucket = format!("{name}_bucket");
    let mut below = 0;
    let bounds = values.bounds.iter().map(|bound| Number(metric.unit, *bound).to_string());
    for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&values.counts) {
        below += count;
        line(out, &bucket, attributes, Some(&bound), &below)?;
    }
    line(out, &format!("{name}_sum"), attributes, None, &Number(metric.unit, values.sum))?;
    line(out, &format!("{name}_count"), attributes, None, &below)
}

/// One sample.
fn line(
    out: &mut impl Write,
    name: &str,
    attributes: &Attributes,
    bound: Option<&str>,
    value: &dyn std::fmt::Display,
) -> io::Result<()> {
    let labels = attributes.iter().map(|(name, value)| (name.replace('.', "_"), value));
    let labels = labels.chain(bound.map(|bound| ("le".to_owned(), bound)));
    let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true)));
    let labels = labels.collect::<Vec<_>>().join(",");
    if labels.is_empty() {
        writeln!(out, "{name} {value}")
    } else {
        writeln!(out, "{name}{{{labels}}} {value}")
    }
}

/// A value in its unit.
struct Number(Unit, u64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.scaled(self.1) {
            Some(scaled) => write!(f, "{scaled}"),
            None => write!(f, "{}", self.1),
        }
    }
}

const fn kind(instrument: Instrument) -> &'static str {
    match instrument {
        Instrument::Counter => "counter",
        Instrument::Gauge => "gauge",
        Instrument::Histogram(_) => "histogram",
    }
}

/// `text` with backslashes and line ends escaped, and quotes if it is quoted. Names of devices and
/// processes are foreign text.
fn escaped(text: &str, is_quoted: bool) -> Cow<'_, str> {
    let text = printable_lines(text);
    if !text.contains(['\\', '\n', '"']) {
        return text;
    }
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_quoted { text.replace('"', "\\\"").into() } else { text.into() }
}
