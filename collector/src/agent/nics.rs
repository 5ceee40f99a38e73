//! NIC counters on their way into the pipeline.

use std::time::{SystemTime, UNIX_EPOCH};

use super::own::Own;
use crate::config::Config;
use crate::ingest::counter::ethtool::Ethtool;
use crate::ingest::counter::{CounterConfig, CounterSource};
use railscope_core::decode::counter::reading::Reading;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;

/// The counters of this host's NICs.
pub(super) struct Nics {
    source: CounterSource<Ethtool>,
    /// Its number among the pipeline's files of counters.
    file: u32,
    samples: u64,
    due: Timestamp,
    /// Why nothing could be read the last time.
    trouble: Option<String>,
    /// Devices that were read the last time.
    devices: Vec<String>,
}

/// Why there are no counters where there is nothing to read them of.
const NO_DEVICE: &str = "no RDMA device";

impl Nics {
    /// Looks for NICs; `None` where they are not wanted or cannot be read at all.
    pub(super) fn open(
        config: &Config,
        host: &str,
        now: Timestamp,
        pipeline: &mut Pipeline,
        own: &mut Own,
        say: &mut dyn FnMut(String),
    ) -> Option<Self> {
        if !config.sources.counters {
            return None;
        }
        let netdevs = match Ethtool::open() {
            Ok(netdevs) => netdevs,
            Err(error) => {
                own.add_blind("counters", "all", "statistics cannot be asked for");
                say(format!("counters: {error}"));
                return None;
            }
        };
        let counters = CounterConfig {
            sysfs: config.host.sysfs.clone(),
            host: host.to_owned(),
            interval: config.counters.interval,
            excluded: config.counters.exclude_devices.clone(),
            wants: |driver, name| Reading::of(driver, name).is_some(),
        };
        let mut source = CounterSource::new(counters, netdevs);
        // That there is none is said when it is read.
        if source.discover(now).is_ok() {
            source.completeness().into_iter().for_each(say);
        }
        let devices = devices(&source);
        own.set("counters", &devices, NO_DEVICE);
        let file = pipeline.add_counters(host);
        Some(Self { source, file, samples: 0, due: now, trouble: None, devices })
    }

    /// Reads what is due.
    pub(super) fn read(
        &mut self,
        pipeline: &mut Pipeline,
        own: &mut Own,
        say: &mut dyn FnMut(String),
    ) {
        let now = now();
        if now < self.due {
            return;
        }
        let Self { source, file, samples, due, trouble, .. } = self;
        let read = source.read(&mut self::now, &mut |sample| {
            *samples += 1;
            pipeline.handle_counter_sample(*file, *samples, sample);
        });
        let failed = read.err().map(|error| error.to_string());
        if failed != *trouble {
            say(format!("counters: {}", failed.as_deref().unwrap_or("read again")));
            *trouble = failed;
        }
        for (event, count) in source.take_health().iter() {
            pipeline.add_health(event, count);
        }
        *due = source.next_due(now);
        let devices = devices(source);
        if devices != self.devices {
            own.set("counters", &devices, NO_DEVICE);
            self.devices = devices;
        }
    }
}

/// The devices that are read, each once.
fn devices(source: &CounterSource<Ethtool>) -> Vec<String> {
    let mut devices: Vec<String> = source.ports().map(|port| port.device.clone()).collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}

#[expect(clippy::disallowed_methods, reason = "samples are taken at a time of the clock")]
fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
