//! What a host knows beside its frames: NIC counters and the kernel's list of queue pairs, read while a
//! recording runs, for a bundle.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde::Serialize;
use tempfile::{NamedTempFile, TempPath};

use super::clock::now;
use crate::ingest::counter::ethtool::Ethtool;
use crate::ingest::counter::port::NicPort;
use crate::ingest::counter::{CounterConfig, CounterSource};
use railscope_core::decode::counter::reading::Reading;
use railscope_core::model::counter::{CounterSample, PortState};

/// Time between two readings of the counters.
const EVERY: Duration = Duration::from_secs(1);

/// Shortest time between two readings: the last one must not be skipped because one was just before.
const SHORTEST: Duration = Duration::from_millis(10);

/// Readings from one list of queue pairs to the next: the kernel asks the device about each.
const LIST_EVERY: u32 = 5;

/// Readings at the start that have a list each: a short job makes and ends its queue pairs meanwhile.
const EARLY: u32 = 20;

/// Readers that run until they are asked to end.
pub struct Beside {
    end: Sender<()>,
    thread: JoinHandle<io::Result<Kept>>,
}

/// What was read.
pub struct Kept {
    /// Counters as JSON lines, as `analyze --counters` reads them; `None` if there were none.
    pub counters: Option<TempPath>,
    /// Queue pairs with their processes, as `rdma resource show qp` prints them, each line behind the host's
    /// name; empty if there were none.
    pub queue_pairs: String,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

impl Beside {
    /// Starts to read. `folder` is for the file of counters; `host` names this host in it.
    ///
    /// # Errors
    ///
    /// The file cannot be created, or the system has no thread.
    pub fn start(folder: &Path, host: &str) -> anyhow::Result<Self> {
        let mut name = tempfile::Builder::new();
        let file = name.prefix(".railscope-").suffix(".counters.jsonl").tempfile_in(folder);
        let file = file.context("create a file for counters")?;
        let mut readers = Readers::new(file, host);
        let (end, ended) = channel();
        let thread = thread::Builder::new().name("beside".to_owned()).spawn(move || {
            for round in 0_u32.. {
                readers.counters()?;
                if round < EARLY || round % LIST_EVERY == 0 {
                    readers.queue_pairs();
                }
                if !matches!(ended.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
            }
            readers.counters()?;
            readers.queue_pairs();
            readers.finish()
        });
        Ok(Self { end, thread: thread.context("start a thread")? })
    }

    /// Reads once more, and ends.
    ///
    /// # Errors
    ///
    /// The file of counters could not be written.
    pub fn finish(self) -> anyhow::Result<Kept> {
        // It may have ended because the disk is full.
        _ = self.end.send(());
        let kept =
            self.thread.join().map_err(|_| anyhow!("the thread that reads counters failed"))?;
        kept.context("write counters")
    }
}

struct Readers {
    host: String,
    source: Option<CounterSource<Ethtool>>,
    file: BufWriter<NamedTempFile>,
    lines: u64,
    queue_pairs: queue_pairs::Lists,
    problems: Vec<String>,
}

impl Readers {
    fn new(file: NamedTempFile, host: &str) -> Self {
        let mut problems = Vec::new();
        let config = CounterConfig {
            sysfs: "/sys".into(),
            host: host.to_owned(),
            interval: SHORTEST,
            excluded: Vec::new(),
            wants: |driver, name| Reading::from_name(driver, name).is_some(),
        };
        let source = match Ethtool::open() {
            Ok(netdevs) => {
                let mut source = CounterSource::new(config, netdevs);
                problems
                    .extend(source.discover(now()).err().map(|error| format!("counters: {error}")));
                Some(source)
            }
            Err(error) => {
                problems.push(format!("counters: {error}"));
                None
            }
        };
        let host = host.to_owned();
        let file = BufWriter::new(file);
        Self { host, source, file, lines: 0, queue_pairs: queue_pairs::none(), problems }
    }

    fn counters(&mut self) -> io::Result<()> {
        let Self { source: Some(source), file, lines, .. } = self else { return Ok(()) };
        let mut written = Ok(());
        // No device is a problem that was noted at the start.
        _ = source.read(&mut now, &mut |sample| {
            if written.is_ok() {
                written = write(sample, file);
                *lines += 1;
            }
        });
        written
    }

    fn queue_pairs(&mut self) {
        let ports = self.source.iter().flat_map(CounterSource::ports);
        let of_port = |port: &NicPort| ((port.device.clone(), port.number), port.addresses.clone());
        let addresses: BTreeMap<_, _> = ports.map(of_port).collect();
        if let Some(problem) = self.queue_pairs.read(&self.host, &addresses)
            && !self.problems.contains(&problem)
        {
            self.problems.push(problem);
        }
    }

    fn finish(self) -> io::Result<Kept> {
        let Self { file, lines, queue_pairs, problems, .. } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let counters = (lines > 0).then(|| file.into_temp_path());
        Ok(Kept { counters, queue_pairs: queue_pairs.text(), problems })
    }
}

/// A sample as `decode/counter/line.rs` reads it.
#[derive(Serialize)]
struct Line<'a> {
    time_ns: u64,
    host: Option<&'a str>,
    device: Option<&'a str>,
    netdev: Option<&'a str>,
    address: Option<IpAddr>,
    port: Option<u32>,
    driver: Option<&'a str>,
    state: Option<&'static str>,
    rate_bps: Option<u64>,
    model: Option<&'a str>,
    firmware: Option<&'a str>,
    mtu: Option<u32>,
    link_layer: Option<&'a str>,
    counters: BTreeMap<&'a str, u64>,
}

fn write(sample: &CounterSample<'_>, out: &mut impl Write) -> io::Result<()> {
    let place = &sample.place;
    let setup = sample.setup.as_deref();
    let routable = |ip: &&IpAddr| match ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let address = sample.addresses.iter().find(routable).or(sample.addresses.first());
    let line = Line {
        time_ns: sample.time.as_nanos(),
        host: place.host.as_deref(),
        device: place.device.as_deref(),
        netdev: place.netdev.as_deref(),
        address: place.address.or(address.copied()),
        port: place.port,
        driver: sample.driver.as_deref(),
        state: sample.link.map(|link| PortState::name(link.state)),
        rate_bps: sample.link.and_then(|link| link.rate_bps),
        model: setup.and_then(|setup| setup.model.as_deref()),
        firmware: setup.and_then(|setup| setup.firmware.as_deref()),
        mtu: setup.and_then(|setup| setup.mtu),
        link_layer: setup.and_then(|setup| setup.link_layer.as_deref()),
        counters: sample.values.iter().map(|(name, value)| (&**name, *value)).collect(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// The kernel's lists of queue pairs.
#[cfg(feature = "live")]
mod queue_pairs {
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    use crate::ingest::process::Processes;
    use crate::ingest::rdma_netlink::RdmaNetlink;
    use railscope_core::model::qpn::Qpn;
    use railscope_core::model::queue_pair::{HostQueuePair, QueuePairOwner};

    /// Most queue pairs that are kept, those that went away included.
    const LIMIT: usize = 1 << 18;

    /// Nothing yet.
    pub(super) fn none() -> Lists {
        Lists::default()
    }

    /// The last line on each queue pair: one that went away keeps its last state.
    #[derive(Default)]
    pub(super) struct Lists(BTreeMap<(String, Qpn, Option<Qpn>), String>);

    impl Lists {
        /// Reads the list once more. Returns what is wrong with it.
        pub(super) fn read(
            &mut self,
            host: &str,
            addresses: &BTreeMap<(String, u32), Vec<IpAddr>>,
        ) -> Option<String> {
            let listed = RdmaNetlink::open().and_then(|mut kernel| kernel.all_queue_pairs());
            let (pairs, failure) = match listed {
                Ok(listed) => listed,
                Err(error) => return Some(format!("queue pairs: {error}")),
            };
            let processes = Processes::new("/proc");
            let mut names = BTreeMap::new();
            for pair in pairs {
                let key = (pair.device.clone(), pair.local, pair.remote);
                if self.0.len() >= LIMIT && !self.0.contains_key(&key) {
                    return Some(format!("queue pairs: only {LIMIT} are kept"));
                }
                let owner = match &pair.owner {
                    QueuePairOwner::Kernel(name) => format!("comm [{name}]"),
                    QueuePairOwner::Unknown => String::new(),
                    QueuePairOwner::Process(thread) => names
                        .entry(*thread)
                        .or_insert_with(|| {
                            let pid = processes.of_thread(*thread).unwrap_or(*thread);
                            let name = processes.identify(pid).map(|known| known.name);
                            format!("pid {pid} comm {}", name.unwrap_or_default())
                        })
                        .clone(),
                };
                let port = pair.port.and_then(|port| addresses.get(&(pair.device.clone(), port)));
                let line = line(host, &pair, port.map_or(&[], Vec::as_slice), &owner);
                self.0.insert(key, line);
            }
            failure.map(|error| format!("queue pairs: {error}"))
        }

        pub(super) fn text(self) -> String {
            self.0.into_values().collect()
        }
    }

    fn line(host: &str, pair: &HostQueuePair, addresses: &[IpAddr], owner: &str) -> String {
        let HostQueuePair { device, port, local, remote, kind, state, .. } = pair;
        let port = port.map_or_else(|| "-".to_owned(), |port| port.to_string());
        let remote = remote.map(|remote| format!(" rqpn {}", remote.value())).unwrap_or_default();
        let addresses: String = addresses.iter().map(|ip| format!(" address {ip}")).collect();
        let (kind, state, local) = (kind.name(), state.name(), local.value());
        format!(
            "{host}: link {device}/{port} lqpn {local}{remote} type {kind} state {state}{addresses} {owner}\n"
        )
    }
}

#[cfg(not(feature = "live"))]
mod queue_pairs {
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    /// Nothing yet.
    pub(super) const fn none() -> Lists {
        Lists
    }

    /// Without netlink there are none.
    pub(super) struct Lists;

    impl Lists {
        #[expect(clippy::unused_self, reason = "as with netlink")]
        pub(super) fn read(
            &mut self,
            _: &str,
            _: &BTreeMap<(String, u32), Vec<IpAddr>>,
        ) -> Option<String> {
            Some("queue pairs: this railscope was built without the feature `live`".to_owned())
        }

        #[expect(clippy::unused_self, reason = "as with netlink")]
        pub(super) fn text(self) -> String {
            String::new()
        }
    }
}
