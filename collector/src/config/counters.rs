//! `[counters]`: settings of the source `counters`.

use std::time::Duration;

use glob::Pattern;

use super::reader::Reader;
use super::{HOUR, MILLISECOND, SECOND};

/// NIC counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterConfig {
    /// Interval between readings.
    pub interval: Duration,
    /// RDMA devices not to read.
    pub exclude_devices: Vec<Pattern>,
}

impl Default for CounterConfig {
    fn default() -> Self {
        Self { interval: SECOND, exclude_devices: Vec::new() }
    }
}

impl CounterConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("counters", |section| {
            section.within("interval", &mut self.interval, 10 * MILLISECOND..=HOUR);
            section.key("exclude-devices", &mut self.exclude_devices);
        });
    }
}
