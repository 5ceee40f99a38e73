//! Lines and samples in, time series out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::series::Series;
use super::{Counter, Counters, NicCounters};
use crate::decode::counter::line::{self, Header};
use crate::decode::counter::reading::Reading;
use crate::model::counter::{CounterSample, NicPlace, NicSetup, PortLink};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Most NICs.
const NIC_CAPACITY: usize = 65_536;
/// Most counters per NIC.
const NAME_CAPACITY: usize = 1_024;
/// Most addresses per NIC.
const ADDRESS_CAPACITY: usize = 64;
/// Most points of all counters, at 16 bytes.
const POINT_CAPACITY: usize = 1 << 23;

/// What identifies a NIC.
type Key = (Option<String>, Option<String>, Option<String>, Option<IpAddr>, Option<u32>);

/// State over the lines of counter files and the samples of live sources.
#[derive(Clone, Debug, Default)]
pub struct CounterTracker {
    files: Vec<File>,
    nics: BTreeMap<Key, Nic>,
    points: usize,
    health: Health,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    header: Option<Header>,
    samples: u64,
}

#[derive(Clone, Debug)]
struct Nic {
    span: Span,
    driver: Option<String>,
    addresses: BTreeSet<IpAddr>,
    link: Option<PortLink>,
    setup: Option<NicSetup>,
    series: BTreeMap<String, Series>,
}

impl CounterTracker {
    /// Adds the next file; files are numbered from 0.
    pub fn add_file(&mut self, name: impl Into<String>) -> u32 {
        self.files.push(File { name: name.into(), header: None, samples: 0 });
        self.files.len() as u32 - 1
    }

    /// Processes the next line of a file; `number` counts from 1. Returns whether it has a sample.
    pub fn observe(&mut self, file: u32, number: u64, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return false;
        }
        let Some(of) = self.files.get_mut(file as usize) else { return false };
        let sample = if text.starts_with('{') {
            line::of_json(text)
        } else if let Some(header) = Header::from_line(text) {
            of.header = Some(header);
            return false;
        } else {
            of.header.as_ref().and_then(|header| line::of_csv(header, text))
        };
        let Some(sample) = sample else {
            self.health.add(HealthEvent::CounterUnreadLines, 1);
            return false;
        };
        self.observe_sample(file, number, &sample);
        true
    }

    /// Processes the next sample of a file, or of a live source in its place.
    pub fn observe_sample(&mut self, file: u32, number: u64, sample: &CounterSample<'_>) {
        if let Some(of) = self.files.get_mut(file as usize) {
            of.samples += 1;
        }
        let time = sample.time;
        let witness = Witness::Sample { file, number, time };
        let key = key(&sample.place);
        if self.nics.len() >= NIC_CAPACITY && !self.nics.contains_key(&key) {
            self.health.add(HealthEvent::CounterDroppedSamples, 1);
            return;
        }
        let span = Span { first: time, last: time };
        let nic = self.nics.entry(key).or_insert_with(|| Nic::new(span));
        nic.learn(sample);
        let mut names = nic.series.len();
        let mut is_backward = false;
        for (name, value) in &sample.values {
            let has_room = self.points < POINT_CAPACITY;
            match nic.series.get_mut(name.as_ref()) {
                // Counters of one NIC may be in several consecutive files.
                Some(series) if time < series.last_time() => {
                    is_backward = true;
                    continue;
                }
                Some(series) if has_room => {
                    let before = (series.resets(), series.wraps());
                    self.points += usize::from(series.add(time, *value, witness));
                    self.health.add(HealthEvent::CounterResets, series.resets() - before.0);
                    self.health.add(HealthEvent::CounterWraps, series.wraps() - before.1);
                }
                None if has_room && names < NAME_CAPACITY => {
                    let is_known = Reading::from_name(nic.driver.as_deref(), name).is_some();
                    self.health.add(HealthEvent::CounterUnknownNames, u64::from(!is_known));
                    names += 1;
                    nic.series.insert(name.clone().into_owned(), Series::new(time, *value));
                    self.points += 1;
                }
                _ => {
                    self.health.add(HealthEvent::CounterDroppedValues, 1);
                    continue;
                }
            }
            nic.span.first = nic.span.first.min(time);
            nic.span.last = nic.span.last.max(time);
        }
        self.health.add(HealthEvent::CounterBackwardSamples, u64::from(is_backward));
    }

    /// The time of the latest sample.
    #[must_use]
    pub fn latest(&self) -> Option<Timestamp> {
        self.nics.values().map(|nic| nic.span.last).max()
    }

    /// Drops what is not needed for spans from `time` on.
    pub fn forget_before(&mut self, time: Timestamp) {
        let series = self.nics.values_mut().flat_map(|nic| nic.series.values_mut());
        let forgotten: usize = series.map(|one| one.forget_before(time)).sum();
        self.points = self.points.saturating_sub(forgotten);
    }

    /// The result, and what was dropped.
    #[must_use]
    pub fn finish(self) -> (Counters, Health) {
        let samples = self.files.iter().map(|file| file.samples).collect();
        let files = self.files.into_iter().map(|file| file.name).collect();
        let nics = self.nics.into_iter().map(|(key, nic)| nic.finish(key));
        (Counters { files, samples, nics: nics.collect() }, self.health)
    }
}

impl Nic {
    fn new(span: Span) -> Self {
        let (addresses, series) = (BTreeSet::new(), BTreeMap::new());
        Self { span, driver: None, addresses, link: None, setup: None, series }
    }

    /// Records a sample's facts other than values.
    fn learn(&mut self, sample: &CounterSample<'_>) {
        if self.driver.is_none() {
            self.driver = sample.driver.as_ref().map(ToString::to_string);
        }
        for address in sample.addresses.iter().chain(&sample.place.address) {
            if self.addresses.len() < ADDRESS_CAPACITY {
                self.addresses.insert(*address);
            }
        }
        self.link = sample.link.or(self.link);
        if sample.setup.is_some() && sample.setup.as_deref() != self.setup.as_ref() {
            self.setup = sample.setup.as_deref().cloned();
        }
    }

    fn finish(self, (host, device, netdev, address, port): Key) -> NicCounters {
        let counter = |(name, series): (String, Series)| {
            let reading = Reading::from_name(self.driver.as_deref(), &name);
            Counter { name, reading, is_counted: reading.is_some(), series }
        };
        let samples = self.series.values().map(Series::samples).max().unwrap_or(0);
        let mut nic = NicCounters {
            host,
            device,
            netdev,
            address,
            port,
            addresses: self.addresses.into_iter().collect(),
            samples,
            span: self.span,
            link: self.link,
            setup: self.setup,
            counters: self.series.into_iter().map(counter).collect(),
            driver: self.driver.clone(),
        };
        nic.choose();
        nic
    }
}

fn key(place: &NicPlace<'_>) -> Key {
    let owned = |name: &Option<std::borrow::Cow<'_, str>>| name.as_ref().map(ToString::to_string);
    let NicPlace { host, device, netdev, address, port } = place;
    (owned(host), owned(device), owned(netdev), *address, *port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(files: &[&str]) -> (Counters, Health) {
        let mut tracker = CounterTracker::default();
        for text in files {
            let file = tracker.add_file("counters");
            for (number, line) in (1..).zip(text.lines()) {
                tracker.observe(file, number, line.as_bytes());
            }
        }
        tracker.finish()
    }

    fn backward(health: &Health) -> u64 {
        health
            .iter()
            .filter(|(event, _)| *event == HealthEvent::CounterBackwardSamples)
            .map(|one| one.1)
            .sum()
    }

    #[test]
    fn files_of_one_nic_come_in_any_order() {
        let later = "time_ns,host,device,a,both\n300,h,mlx5_0,1,5\n400,h,mlx5_0,3,6\n";
        let earlier = "time_ns,host,device,b,both\n100,h,mlx5_0,7,1\n350,h,mlx5_0,9,2\n";
        let (counters, health) = finish(&[later, earlier]);
        let [nic] = counters.nics.as_slice() else { panic!("{counters:?}") };
        let rises: Vec<_> =
            nic.counters.iter().map(|one| (one.name.as_str(), one.series.rise())).collect();
        assert_eq!(rises, [("a", 2), ("b", 2), ("both", 1)]);
        let time = Timestamp::from_nanos;
        assert_eq!((nic.samples, nic.span), (2, Span { first: time(100), last: time(400) }));
        // For the counter in both files, only samples after its last time are counted.
        assert_eq!(backward(&health), 2);
    }
}
