//! NIC counters over time: samples in, and how much a counter increased in a span of time.
//!
//! [`CounterTracker`] takes lines and samples; [`Counters`] is the result, and [`Counters::join`]
//! finds the port of each NIC.

pub mod join;
pub mod pause;
pub mod series;

mod tracker;

use std::collections::BTreeMap;
use std::net::IpAddr;

use self::series::Series;
use crate::decode::counter::measure::Measure;
use crate::decode::counter::reading::Reading;
use crate::model::counter::{NicSetup, PortLink};
use crate::model::time::Span;
use crate::model::witness::Witness;

pub use tracker::CounterTracker;

/// All NICs with counters.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Names of the files.
    pub files: Vec<String>,
    /// Samples of each file.
    pub samples: Vec<u64>,
    /// NICs, by host, device, interface, address and port.
    pub nics: Vec<NicCounters>,
}

/// The counters of one port of a NIC.
#[derive(Clone, Debug)]
pub struct NicCounters {
    /// Name of its host.
    pub host: Option<String>,
    /// RDMA device.
    pub device: Option<String>,
    /// Network interface.
    pub netdev: Option<String>,
    /// Address in the lines.
    pub address: Option<IpAddr>,
    /// Port of the device.
    pub port: Option<u32>,
    /// Addresses of its traffic: the address in its lines, else as [`join`](Counters::join) found.
    pub addresses: Vec<IpAddr>,
    /// Samples of the counter that was read most often.
    pub samples: u64,
    /// First and last sample.
    pub span: Span,
    /// The kernel's driver of the device.
    pub driver: Option<String>,
    /// State of the port's link at the last sample that has it.
    pub link: Option<PortLink>,
    /// What it is and how it is set up, at the last sample that has it.
    pub setup: Option<NicSetup>,
    /// Counters by raw name.
    pub counters: Vec<Counter>,
}

/// What a NIC is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicName {
    /// Name of its host, if the source gives it.
    pub host: Option<String>,
    /// Its RDMA device, else its network interface, else its address.
    pub device: Option<String>,
}

/// One counter of a NIC.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Its raw name.
    pub name: String,
    /// Its meaning, if known.
    pub reading: Option<Reading>,
    /// Whether it is part of its measure's sum; if not, another counter counts the same, or its
    /// meaning is unknown.
    pub is_counted: bool,
    /// Its values.
    pub series: Series,
}

impl Counter {
    /// Whether it is worth showing: its meaning is known, or it increased.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.reading.is_some() || self.series.rise() > 0
    }

    /// What one raw count stands for, in the unit of its measure.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.reading.map_or(1, |reading| reading.scale)
    }

    /// Increase from the first sample to the last in the unit of its measure; raw if that is unknown.
    #[must_use]
    pub fn rise(&self) -> u64 {
        self.series.rise().saturating_mul(self.scale())
    }
}

/// Increase of a measure of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The increase in the measure's unit.
    pub amount: u64,
    /// The first sample with an increase.
    pub witness: Option<Witness>,
}

impl Counters {
    /// No NIC is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nics.is_empty()
    }

    /// The NICs whose traffic has this address.
    pub fn of_port(&self, port: IpAddr) -> impl Iterator<Item = &NicCounters> {
        self.nics.iter().filter(move |nic| nic.addresses.contains(&port))
    }

    /// Increase of `measure` at `port` in `span`, in its unit, over all priorities; `None` if no
    /// NIC of the port has it or its samples do not cover the span.
    ///
    /// A counter is assumed to increase evenly between samples: with samples every 10 ms (mlx5
    /// reads its hardware no more often, `lifespan`), each end of a span is uncertain by one
    /// sample's increase.
    #[must_use]
    pub fn delta(&self, port: IpAddr, span: Span, measure: Measure) -> Option<u64> {
        sum(self.of_port(port).map(|nic| nic.delta(span, measure)))
    }
}

impl NicCounters {
    /// Increase of `measure` in `span`: see [`Counters::delta`].
    #[must_use]
    pub fn delta(&self, span: Span, measure: Measure) -> Option<u64> {
        let series = self.of_measure(measure);
        sum(series.map(|(reading, series)| Some(series.delta(span)?.saturating_mul(reading.scale))))
    }

    /// Increase of `measure` from the first sample to the last, if it is counted.
    #[must_use]
    pub fn rise(&self, measure: Measure) -> Option<Rise> {
        let series = || self.of_measure(measure);
        let amounts = series().map(|(reading, series)| series.rise().checked_mul(reading.scale));
        let witness = series().filter_map(|(_, series)| series.first_rise()).min();
        Some(Rise { amount: sum(amounts)?, witness })
    }

    /// The counters of `measure`: one, or one per priority.
    pub fn of_measure(&self, measure: Measure) -> impl Iterator<Item = (Reading, &Series)> {
        let counted = self.counters.iter().filter(|one| one.is_counted);
        let known = counted.filter_map(|one| Some((one.reading?, &one.series)));
        known.filter(move |(reading, _)| reading.measure == measure)
    }

    /// Excludes counters that count the same as others of their measure.
    fn choose(&mut self) {
        let mut ranks: BTreeMap<Measure, u8> = BTreeMap::new();
        for reading in self.counters.iter().filter_map(|one| one.reading) {
            let rank = ranks.entry(reading.measure).or_insert(reading.rank);
            *rank = reading.rank.min(*rank);
        }
        for counter in &mut self.counters {
            let is_lowest = |reading: Reading| ranks.get(&reading.measure) == Some(&reading.rank);
            counter.is_counted = counter.reading.is_some_and(is_lowest);
        }
    }

    /// Its display name: host and device, else what is known.
    #[must_use]
    pub fn name(&self) -> NicName {
        let address = || self.address.map(|address| address.to_string());
        let device = self.device.clone().or_else(|| self.netdev.clone()).or_else(address);
        NicName { host: self.host.clone(), device }
    }
}

/// The sum of known amounts; `None` if none is known.
fn sum(amounts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    amounts.flatten().reduce(u64::saturating_add)
}
