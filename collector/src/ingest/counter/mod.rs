//! NIC counters, read live: RDMA devices' from sysfs, their network interfaces' as `ethtool -S` does.
//!
//! They count whole ports, not flows. A device answers from a cache for the time in its `lifespan` (mlx5:
//! 10 ms) and is not read more often, as the values would repeat.

pub mod ethtool;
pub mod port;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use glob::Pattern;

use self::ethtool::NetdevStatistics;
use self::port::NicPort;
use super::kernel_file;
use railscope_core::model::counter::{CounterSample, NicPlace};
use railscope_core::model::health::Health;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::time::Timestamp;

/// Time between two looks for devices: NICs come and go rarely.
const DISCOVERY: Duration = Duration::from_secs(60);

/// What to read, and how often.
#[derive(Clone, Debug)]
pub struct CounterConfig {
    /// Root of sysfs.
    pub sysfs: PathBuf,
    /// Name of this host in samples.
    pub host: String,
    /// Time from one reading to the next.
    pub interval: Duration,
    /// Names of RDMA devices that are not read.
    pub excluded: Vec<Pattern>,
    /// Which statistics of an interface are wanted, by driver and name: a NIC has thousands, most of them
    /// of single queues. All counters of an RDMA device are read.
    pub wants: fn(Option<&str>, &str) -> bool,
}

/// Why there are no counters.
#[derive(Debug, thiserror::Error)]
pub enum NoCounters {
    /// No RDMA driver is loaded.
    #[error("{0} does not exist: the kernel has no RDMA driver loaded")]
    NoDrivers(PathBuf),
    /// The list of devices cannot be read.
    #[error("list RDMA devices in {folder}")]
    Unreadable {
        /// The folder that lists devices.
        folder: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The host has none.
    #[error("this host has no RDMA device")]
    NoDevices,
    /// All are excluded.
    #[error("all RDMA devices of this host are excluded: {}", .0.join(", "))]
    AllExcluded(Vec<String>),
}

/// Counters of the RDMA devices of this host.
#[derive(Debug)]
pub struct CounterSource<N> {
    config: CounterConfig,
    netdevs: N,
    ports: Vec<Reader>,
    discovered: Option<Timestamp>,
    /// Names of all devices, when it last looked for ports.
    names: Vec<String>,
    /// Network interfaces whose statistics could not be read, with the reason.
    silent_netdevs: BTreeMap<String, String>,
    health: Health,
}

#[derive(Debug)]
struct Reader {
    port: NicPort,
    last: Option<Timestamp>,
}

impl<N: NetdevStatistics> CounterSource<N> {
    /// A source that has not looked for devices yet.
    pub fn new(config: CounterConfig, netdevs: N) -> Self {
        Self {
            config,
            netdevs,
            ports: Vec::new(),
            discovered: None,
            names: Vec::new(),
            silent_netdevs: BTreeMap::new(),
            health: Health::default(),
        }
    }

    /// Looks for devices again; [`read`](Self::read) does so once a minute, and when one came or went.
    ///
    /// # Errors
    ///
    /// When there is no device to read. The source keeps looking.
    pub fn discover(&mut self, now: Timestamp) -> Result<(), NoCounters> {
        self.discovered = Some(now);
        let names = self.names();
        let gone = self.names.iter().filter(|name| !names.contains(name));
        self.health.add(HealthEvent::SourceDevicesRemoved, gone.count() as u64);
        self.names = names;
        let found = self.find();
        let mut last: BTreeMap<(String, u32), Option<Timestamp>> = BTreeMap::new();
        for Reader { port, last: time } in self.ports.drain(..) {
            last.insert((port.device, port.number), time);
        }
        let (ports, problem) = match found {
            Ok(ports) => (ports, Ok(())),
            Err(problem) => (Vec::new(), Err(problem)),
        };
        let read_before = |port: &NicPort| last.get(&(port.device.clone(), port.number)).copied();
        let reader = |port: NicPort| Reader { last: read_before(&port).flatten(), port };
        self.ports = ports.into_iter().map(reader).collect();
        problem
    }

    /// Names of the devices that there are now.
    fn names(&self) -> Vec<String> {
        kernel_file::names(&self.config.sysfs.join("class/infiniband")).unwrap_or_default()
    }

    fn find(&mut self) -> Result<Vec<NicPort>, NoCounters> {
        let folder = self.config.sysfs.join("class/infiniband");
        let devices = match kernel_file::names(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NoCounters::NoDrivers(folder));
            }
            Err(source) => return Err(NoCounters::Unreadable { folder, source }),
            Ok(devices) if devices.is_empty() => return Err(NoCounters::NoDevices),
            Ok(devices) => devices,
        };
        let is_excluded = |device: &str| self.config.excluded.iter().any(|one| one.matches(device));
        let net = self.config.sysfs.join("class/net");
        let mut ports = Vec::new();
        for device in devices.iter().filter(|device| !is_excluded(device)) {
            match NicPort::of_device(device, &folder.join(device), &net) {
                Ok(found) => ports.extend(found),
                Err(_) => self.health.add(HealthEvent::CounterUnreadableDevices, 1),
            }
        }
        if devices.iter().all(|device| is_excluded(device)) {
            return Err(NoCounters::AllExcluded(devices));
        }
        Ok(ports)
    }

    /// Reads every port that is due. `clock` is read again for each port, as devices take time to answer.
    ///
    /// # Errors
    ///
    /// When a new look for devices found none.
    pub fn read(
        &mut self,
        clock: &mut dyn FnMut() -> Timestamp,
        deliver: &mut dyn FnMut(&CounterSample<'_>),
    ) -> Result<(), NoCounters> {
        let now = clock();
        let is_stale = |at: Timestamp| now < at || now.nanos_since(at) >= nanos(DISCOVERY);
        let result = match self.discovered {
            Some(at) if !is_stale(at) && self.names() == self.names => Ok(()),
            _ => self.discover(now),
        };
        for at in 0..self.ports.len() {
            self.read_port(at, clock, deliver);
        }
        result
    }

    fn read_port(
        &mut self,
        at: usize,
        clock: &mut dyn FnMut() -> Timestamp,
        deliver: &mut dyn FnMut(&CounterSample<'_>),
    ) {
        let time = clock();
        let Some(reader) = self.ports.get_mut(at) else { return };
        let interval = nanos(reader.interval(&self.config));
        // If the clock was set back, reading must not pause until it has caught up.
        if reader.last.is_some_and(|last| time >= last && time.nanos_since(last) < interval) {
            return;
        }
        reader.last = Some(time);
        let port = reader.port.clone();
        let mut values = Vec::new();
        let mut unreadable = port.read("hw_counters", &mut values);
        unreadable += port.read("counters", &mut values);
        self.health.add(HealthEvent::CounterUnreadableFiles, unreadable);
        if port.members.is_empty() {
            for (name, value) in self.statistics(&port, port.netdev.as_deref()) {
                // Where both have a name, the RDMA device's counter is kept.
                if values.iter().all(|(known, _)| *known != name) {
                    values.push((name, value));
                }
            }
        }
        let host = Cow::Borrowed(self.config.host.as_str());
        let of_port = sample(time, host, &port, port.netdev.as_deref(), values);
        deliver(&CounterSample {
            link: port.link(),
            setup: Some(Cow::Borrowed(&port.setup)),
            ..of_port
        });
        for member in &port.members {
            let values = self.statistics(&port, Some(member));
            let host = Cow::Borrowed(self.config.host.as_str());
            deliver(&sample(time, host, &port, Some(member), values));
        }
    }

    /// The wanted statistics of an interface.
    fn statistics(&mut self, port: &NicPort, netdev: Option<&str>) -> Vec<(String, u64)> {
        let Some(netdev) = netdev else { return Vec::new() };
        match self.netdevs.read(netdev) {
            Ok(mut statistics) => {
                self.silent_netdevs.remove(netdev);
                statistics.retain(|(name, _)| (self.config.wants)(port.driver.as_deref(), name));
                statistics
            }
            Err(error) => {
                self.silent_netdevs.insert(netdev.to_owned(), error.to_string());
                self.health.add(HealthEvent::CounterUnreadableNetdevs, 1);
                Vec::new()
            }
        }
    }

    /// When the next port is due.
    pub fn next_due(&self, now: Timestamp) -> Timestamp {
        let due = self.ports.iter().map(|reader| {
            let interval = nanos(reader.interval(&self.config));
            let last = reader.last.filter(|last| *last <= now);
            last.map_or(now, |last| last.plus_nanos(interval))
        });
        due.min().unwrap_or(now.plus_nanos(nanos(DISCOVERY)))
    }

    /// The ports that are read.
    pub fn ports(&self) -> impl Iterator<Item = &NicPort> {
        self.ports.iter().map(|reader| &reader.port)
    }

    /// What is read, what is read less often than configured, and what cannot be read, in sentences for
    /// people.
    pub fn completeness(&self) -> Vec<String> {
        let names = self.ports().map(|port| format!("{} port {}", port.device, port.number));
        let names: Vec<String> = names.collect();
        let all = match names.as_slice() {
            [] => "no counters are read".to_owned(),
            names => {
                format!("counters of whole ports, not of flows: {}", names.join(", "))
            }
        };
        let slow = self.ports().filter(|port| port.lifespan > self.config.interval).map(|port| {
            let NicPort { device, number, lifespan, .. } = port;
            let (lifespan, wanted) = (lifespan.as_millis(), self.config.interval.as_millis());
            format!(
                "{device} port {number} updates its counters every {lifespan} ms; it is read that often, \
                 not every {wanted} ms"
            )
        });
        let silent = self.silent_netdevs.iter().map(|(netdev, reason)| {
            format!(
                "statistics of {netdev} cannot be read ({reason}): pause and discards are unknown"
            )
        });
        std::iter::once(all).chain(slow).chain(silent).collect()
    }

    /// What was missed since the last call.
    pub fn take_health(&mut self) -> Health {
        std::mem::take(&mut self.health)
    }
}

impl Reader {
    fn interval(&self, config: &CounterConfig) -> Duration {
        config.interval.max(self.port.lifespan)
    }
}

fn sample<'a>(
    time: Timestamp,
    host: Cow<'a, str>,
    port: &'a NicPort,
    netdev: Option<&'a str>,
    values: Vec<(String, u64)>,
) -> CounterSample<'a> {
    let place = NicPlace {
        host: Some(host),
        device: Some(Cow::Borrowed(&port.device)),
        netdev: netdev.map(Cow::Borrowed),
        address: None,
        port: Some(port.number),
    };
    CounterSample {
        time,
        place,
        driver: port.driver.as_deref().map(Cow::Borrowed),
        addresses: port.addresses.clone(),
        link: None,
        setup: None,
        values: values.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect(),
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
