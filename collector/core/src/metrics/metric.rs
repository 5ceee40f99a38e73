//! A metric's name, unit, instrument and attributes, and its name in Prometheus.

use std::borrow::Cow;

use super::attribute::Attribute;

/// A metric of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in OpenTelemetry: namespaces with dots, no unit.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Counter, gauge or histogram.
    pub instrument: Instrument,
    /// Attributes of its series; the product of their bounds bounds the series.
    pub attributes: &'static [&'static Attribute],
    /// Its description: one sentence without a full stop.
    pub about: &'static str,
}

/// Unit of a value. Values are kept as integers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, kept in nanoseconds.
    Seconds,
    /// Bytes: `By`.
    Bytes,
    /// Bytes per second: `By/s`.
    BytesPerSecond,
    /// A share of 1, kept in billionths.
    Share,
    /// A count, with its annotation in UCUM, such as `packet`.
    Things(&'static str),
}

/// OpenTelemetry's instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// A sum that only grows.
    Counter,
    /// A value at a time.
    Gauge,
    /// A distribution: ascending upper bounds of its buckets, in the unit as kept.
    Histogram(&'static [u64]),
}

impl Unit {
    /// The unit as UCUM writes it.
    #[must_use]
    pub fn ucum(self) -> Cow<'static, str> {
        match self {
            Self::Seconds => "s".into(),
            Self::Bytes => "By".into(),
            Self::BytesPerSecond => "By/s".into(),
            Self::Share => "1".into(),
            Self::Things(what) => format!("{{{what}}}").into(),
        }
    }

    /// Kept units per unit: 1,000,000,000 for seconds, which are kept in nanoseconds.
    #[must_use]
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds | Self::Share => 1_000_000_000,
            Self::Bytes | Self::BytesPerSecond | Self::Things(_) => 1,
        }
    }

    /// `kept` in the unit; `None` if it is kept in the unit itself.
    #[must_use]
    pub fn scaled(self, kept: u64) -> Option<f64> {
        (self.scale() > 1).then(|| kept as f64 / self.scale() as f64)
    }

    /// Suffix in Prometheus.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => "_seconds",
            Self::Bytes => "_bytes",
            Self::BytesPerSecond => "_bytes_per_second",
            Self::Share | Self::Things(_) => "",
        }
    }
}

impl Metric {
    /// The name in Prometheus by OpenTelemetry's rule, so that scraping and OTLP give the same:
    /// dots become underscores, the unit follows (annotations do not), counters end in `_total`,
    /// gauges of shares in `_ratio`.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        let kind = match (self.instrument, self.unit) {
            (Instrument::Counter, _) => "_total",
            (Instrument::Gauge, Unit::Share) => "_ratio",
            _ => "",
        };
        format!("{}{}{kind}", self.name.replace('.', "_"), self.unit.suffix())
    }

    /// Most series without optional attributes; further ones are refused and counted.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.required().map(|attribute| u64::from(attribute.values)).product()
    }

    /// Most series with all optional attributes on.
    #[must_use]
    pub fn largest_bound(&self) -> u64 {
        if self.required().count() == self.attributes.len() { self.bound() } else { OPTIONAL_BOUND }
    }

    /// The attributes that are always exported.
    pub fn required(&self) -> impl Iterator<Item = &'static Attribute> {
        self.attributes.iter().copied().filter(|attribute| !attribute.is_optional)
    }
}

/// Most series of a metric with optional attributes.
const OPTIONAL_BOUND: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(name: &'static str, unit: Unit, instrument: Instrument) -> String {
        Metric { name, unit, instrument, attributes: &[], about: "" }.prometheus_name()
    }

    #[test]
    fn prometheus_spells_units_and_kinds() {
        let counter = Instrument::Counter;
        assert_eq!(spelling("rdma.flow.io", Unit::Bytes, counter), "rdma_flow_io_bytes_total");
        assert_eq!(
            spelling("rdma.cnp.packets", Unit::Things("packet"), counter),
            "rdma_cnp_packets_total"
        );
        assert_eq!(spelling("a.share", Unit::Share, Instrument::Gauge), "a_share_ratio");
        assert_eq!(spelling("a.share", Unit::Share, Instrument::Histogram(&[])), "a_share");
        assert_eq!(
            spelling("rdma.port.peak_rate", Unit::BytesPerSecond, Instrument::Gauge),
            "rdma_port_peak_rate_bytes_per_second"
        );
    }
}
