//! One case of a scenario: the files it left, as tshark and as railscope read them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::analysis::Report;
use super::counters::Counters;
use super::wire::Wire;

/// Hosts, each with a tap at its own network device.
pub(super) const HOSTS: [usize; 2] = [0, 1];

pub(super) struct Case {
    pub(super) name: String,
    folder: PathBuf,
    pub(super) counters: Counters,
    /// By host.
    pub(super) taps: [Tap; HOSTS.len()],
}

/// A capture, read by both.
pub(super) struct Tap {
    pub(super) wire: Wire,
    pub(super) report: Report,
}

impl Case {
    /// Reads the case `name` of the scenario that ran in `scenario`.
    pub(super) fn read(scenario: &Path, name: &str, railscope: &Path) -> Result<Self> {
        let read = || {
            let folder = scenario.join(name);
            let tap = |host| Tap::read(&folder.join(format!("host{host}.pcap")), railscope);
            let taps = std::thread::scope(|scope| {
                let other = scope.spawn(|| tap(1));
                let own = tap(0);
                let other = other.join().map_err(|_| anyhow::anyhow!("reading a tap panicked"));
                anyhow::Ok([own?, other??])
            })?;
            let counters = Counters::parse(&text(&folder, "counters")?)?;
            anyhow::Ok(Self { name: name.to_owned(), folder, counters, taps })
        };
        read().with_context(|| format!("case {name}"))
    }

    /// The file with this name in the case's folder.
    pub(super) fn text(&self, file: &str) -> Result<String> {
        text(&self.folder, file)
    }

    /// Retransmissions that rxe counted, for any reason.
    pub(super) fn retries(&self) -> u64 {
        HOSTS.map(|host| self.counters.value(host, "completer_retry_err")).iter().sum()
    }

    /// Packets lost between the taps: sent by `host`, not seen at the other tap.
    pub(super) fn lost_from(&self, host: usize) -> Option<u64> {
        let address = addresses(host);
        let sent = self.taps[host].wire.from(&address);
        sent.checked_sub(self.taps[1 - host].wire.from(&address))
    }
}

impl Tap {
    fn read(capture: &Path, railscope: &Path) -> Result<Self> {
        Ok(Self { wire: Wire::read(capture)?, report: Report::analyze(railscope, capture)? })
    }
}

/// The addresses that `fabric.sh` gives a host.
pub(super) fn addresses(host: usize) -> [String; 2] {
    let number = host + 1;
    [format!("10.0.0.{number}"), format!("fd00::{number}")]
}

fn text(folder: &Path, file: &str) -> Result<String> {
    let path = folder.join(file);
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}
