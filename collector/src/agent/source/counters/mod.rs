//! Counters of this host's NICs.

mod needs;

use super::contract::{Between, Context, Opened, Opening, Source};
use crate::agent::wall_clock::now;
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::counter::ethtool::Ethtool;
use crate::ingest::counter::{CounterConfig, CounterSource};
use railscope_core::decode::counter::reading::Reading;
use railscope_core::model::time::Timestamp;

/// Why there are no counters.
const NO_DEVICE: &str = "no RDMA device";

/// The source.
pub(super) struct Counters;

impl Source for Counters {
    fn key(&self) -> &'static str {
        "sources.counters"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.counters
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened {
        let netdevs = match Ethtool::open() {
            Ok(netdevs) => netdevs,
            Err(error) => {
                let why = "statistics cannot be asked for";
                context.visibility.add_blind("counters", "all", why);
                (context.say)(format!("counters: {error}"));
                return Opened::Nothing;
            }
        };
        let settings = &opening.config.counters;
        let mut source = CounterSource::new(
            CounterConfig {
                sysfs: opening.config.host.sysfs.clone(),
                host: opening.host.to_owned(),
                interval: settings.interval,
                excluded: settings.exclude_devices.clone(),
                wants: |driver, name| Reading::from_name(driver, name).is_some(),
            },
            netdevs,
        );
        let due = now();
        // If there are none, the first reading reports that.
        if source.discover(due).is_ok() {
            source.completeness().into_iter().for_each(&mut *context.say);
        }
        let devices = devices(&source);
        context.visibility.set("counters", &devices, NO_DEVICE);
        let file = context.session.pipeline_mut().add_counters(opening.host);
        Opened::Between(Box::new(Nics { source, file, samples: 0, due, trouble: None, devices }))
    }
}

/// The NICs that are read.
struct Nics {
    source: CounterSource<Ethtool>,
    /// Its number among the pipeline's files of counters.
    file: u32,
    samples: u64,
    due: Timestamp,
    /// Why the last reading failed, if it did.
    trouble: Option<String>,
    /// Devices of the last reading.
    devices: Vec<String>,
}

impl Between for Nics {
    fn read(&mut self, context: &mut Context<'_>) {
        let now = now();
        if now < self.due {
            return;
        }
        let Self { source, file, samples, due, trouble, .. } = self;
        let read = source.read(&mut crate::agent::wall_clock::now, &mut |sample| {
            *samples += 1;
            context.session.pipeline_mut().handle_counter_sample(*file, *samples, sample);
        });
        let failed = read.err().map(|error| error.to_string());
        if failed != *trouble {
            (context.say)(format!("counters: {}", failed.as_deref().unwrap_or("read again")));
            *trouble = failed;
        }
        for (event, count) in source.take_health().iter() {
            context.session.pipeline_mut().add_health(event, count);
        }
        *due = source.next_due(now);
        let devices = devices(source);
        if devices != self.devices {
            context.visibility.set("counters", &devices, NO_DEVICE);
            self.devices = devices;
        }
    }
}

/// The devices that are read, each once, in order.
fn devices(source: &CounterSource<Ethtool>) -> Vec<String> {
    let mut devices: Vec<String> = source.ports().map(|port| port.device.clone()).collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}
