//! `[profiles]`: settings of the source `profiles`.

use std::path::PathBuf;
use std::time::Duration;

use super::reader::Reader;
use super::{HOUR, SECOND};
use crate::trigger::Trigger;

/// Longest lease that the plugin obeys.
const LONGEST: Duration = Duration::from_mins(10);

/// Rings of NCCL's profiler plugin, and when more events are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileConfig {
    /// Where the plugin has its rings: `RAILSCOPE_PROFILER_SHM`, as the processes see it.
    pub folder: PathBuf,
    /// What turns on events.
    pub deep_on: Vec<Trigger>,
    /// For how long.
    pub deep_for: Duration,
    /// Which events, as `RAILSCOPE_PROFILER_MASK` has them.
    pub deep_events: usize,
    /// Least time from one such time to the next.
    pub deep_pause: Duration,
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            folder: "/dev/shm".into(),
            deep_on: Vec::new(),
            deep_for: Duration::from_secs(30),
            deep_events: 30,
            deep_pause: Duration::from_mins(5),
        }
    }
}

impl ProfileConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("profiles", |section| {
            section.key("folder", &mut self.folder);
            section.key("deep-on", &mut self.deep_on);
            section.within("deep-for", &mut self.deep_for, SECOND..=LONGEST);
            section.within("deep-events", &mut self.deep_events, 1..=0x7fff_ffff);
            section.within("deep-pause", &mut self.deep_pause, Duration::ZERO..=24 * HOUR);
        });
    }
}
