//! What a metric is: name, unit, kind and attributes, and how Prometheus spells it.

use std::borrow::Cow;

use super::attribute::Attribute;

/// A metric of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in OpenTelemetry: namespaces with dots, no unit.
    pub name: &'static str,
    /// What a value counts.
    pub unit: Unit,
    /// How values come to be.
    pub instrument: Instrument,
    /// What tells its series apart.
    pub attributes: &'static [&'static Attribute],
    /// What it says, in one sentence without a full stop.
    pub about: &'static str,
}

/// What a value counts. Values are kept as integers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, kept in nanoseconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// A share of 1, kept in billionths.
    Share,
    /// Things, with the annotation that says which.
    Things(&'static str),
}

/// How values come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// A sum that only grows.
    Counter,
    /// What holds at the time.
    Gauge,
    /// A distribution: ascending upper bounds of its buckets, as its unit is kept.
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

    /// How many of what is kept make one.
    #[must_use]
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds | Self::Share => 1_000_000_000,
            Self::Bytes | Self::BytesPerSecond | Self::Things(_) => 1,
        }
    }

    /// `kept` in the unit; `None` where it is a whole number as it is.
    #[must_use]
    pub fn scaled(self, kept: u64) -> Option<f64> {
        (self.scale() > 1).then(|| kept as f64 / self.scale() as f64)
    }

    /// What Prometheus adds to a name.
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
    /// The name in Prometheus, by OpenTelemetry's own rule, so that it is the same by whatever way
    /// it came: dots become underscores, the unit follows (annotations do not), counters end in
    /// `_total`, gauges without a unit in `_ratio`.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        let kind = match (self.instrument, self.unit) {
            (Instrument::Counter, _) => "_total",
            (Instrument::Gauge, Unit::Share) => "_ratio",
            _ => "",
        };
        format!("{}{}{kind}", self.name.replace('.', "_"), self.unit.suffix())
    }

    /// Series at most, of what is always told: beyond that new ones are refused, and counted.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.required().map(|attribute| u64::from(attribute.values)).product()
    }

    /// The bound where all that can be turned on is: no attribute multiplies beyond this.
    #[must_use]
    pub fn largest_bound(&self) -> u64 {
        if self.required().count() == self.attributes.len() { self.bound() } else { OPTIONAL_BOUND }
    }

    /// The attributes that are always told.
    pub fn required(&self) -> impl Iterator<Item = &'static Attribute> {
        self.attributes.iter().copied().filter(|attribute| !attribute.is_optional)
    }
}

/// Series of a metric with optional attributes.
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
