//! What rows of all tables need to know of their report.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use sha2::{Digest, Sha256};

use railscope_core::report::Report;
use railscope_core::report::capture::Capture;
use railscope_core::report::communicators::RankReport;
use railscope_core::report::places::PortReport;

/// A report, and indices into it.
pub(super) struct Context<'a> {
    pub(super) report: &'a Report,
    /// Names the capture, and joins the tables: see [`identity`].
    pub(super) capture: String,
    ports: HashMap<&'a str, &'a PortReport>,
    /// By communicator and rank.
    ranks: HashMap<(&'a str, u32), &'a RankReport>,
    /// What identifies the host of an address that a rank's data uses.
    hosts: HashMap<&'a str, &'a str>,
}

impl<'a> Context<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let mut ranks = HashMap::new();
        let mut hosts = HashMap::new();
        for communicator in &report.communicators {
            for rank in &communicator.ranks {
                ranks.insert((communicator.id.as_str(), rank.rank), rank);
                let Some(host) = &rank.place else { continue };
                hosts.extend(rank.nics.iter().map(|nic| (nic.address.as_str(), host.as_str())));
            }
        }
        let ports = report.ports.iter().map(|port| (port.address.as_str(), port)).collect();
        Self { report, capture: identity(report), ports, ranks, hosts }
    }

    /// A time of the report, in microseconds since the Unix epoch, rounded down.
    pub(super) fn micros(&self, relative_ns: i64) -> i64 {
        i64::try_from(self.report.capture.time(relative_ns).as_nanos() / 1000).unwrap_or(i64::MAX)
    }

    pub(super) fn port(&self, address: &str) -> Option<&'a PortReport> {
        self.ports.get(address).copied()
    }

    /// The host of a port: its name, else what identifies it.
    pub(super) fn host_of_port(&self, address: &str) -> Option<&'a str> {
        let named = self.port(address).and_then(|port| port.host.as_deref());
        named.or_else(|| self.hosts.get(address).copied())
    }

    /// The host of a rank, likewise.
    pub(super) fn host_of_rank(&self, communicator: &str, rank: u32) -> Option<&'a str> {
        self.ranks.get(&(communicator, rank))?.place.as_deref()
    }
}

/// Sixteen hexadecimal digits that are the same whenever the same input is analysed, wherever its files
/// are and whatever the options.
fn identity(report: &Report) -> String {
    #[derive(Serialize)]
    struct Identity<'a> {
        capture: &'a Capture,
        frames: Vec<(u64, Option<i64>)>,
        inputs: BTreeMap<&'a str, u64>,
    }
    let mut inputs = BTreeMap::new();
    for input in &report.inputs {
        *inputs.entry(input.kind).or_default() += input.read;
    }
    let frames = report.taps.iter().map(|tap| (tap.frames, tap.first_ns)).collect();
    let identity = Identity { capture: &report.capture, frames, inputs };
    // Numbers and texts always become JSON.
    let text = serde_json::to_vec(&identity).unwrap_or_default();
    let digest = Sha256::digest(text);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
