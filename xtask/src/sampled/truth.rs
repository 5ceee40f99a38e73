//! Simulated jobs: every packet that left a switch, and how long the training steps were.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::analyze;
use crate::repository::command;

/// Congestion at one host: a neighbour's datagrams meet the job's at its port.
const SCENARIO: &str = r#"title = "a job with congestion at one host"

[fabric]
hosts = 5
hosts_per_leaf = 5
spines = 0

[fabric.ecn]
kmin = "20KB"
kmax = "200KB"

[capture]
taps = ["leaf0:host0", "leaf0:host1", "leaf0:host2", "leaf0:host3"]

[[job]]
hosts = [0, 1, 2, 3]
channels = 4
iterations = 21
buckets = ["1M", "512K"]
compute = "100ms"
jitter = "2ms"

[[background]]
sender = "host4"
receiver = "host0"
rate = "6G"
dscp = 26
"#;

/// A packet that left the switch.
#[derive(Debug)]
pub(super) struct Packet {
    /// Since the start of its training step, ns.
    pub(super) time_ns: u64,
    /// ifIndex of the port that it left through.
    pub(super) port: u32,
    pub(super) wire_len: u32,
    /// Its first 128 bytes.
    pub(super) header: Vec<u8>,
}

/// Sums over the RoCE packets between two hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) frames: f64,
    pub(super) bytes: f64,
    pub(super) squares: f64,
    pub(super) ce: f64,
}

/// By sender and receiver.
pub(super) type Pairs = BTreeMap<(String, String), Sums>;

/// A training step: what left the switch from its start to the start of the next one.
#[derive(Debug, Default)]
pub(super) struct Iteration {
    pub(super) packets: Vec<Packet>,
    pub(super) length_ns: u64,
    pub(super) pairs: Pairs,
}

/// A job, from the start of its second training step to the start of its last one.
pub(super) struct Job {
    pub(super) iterations: Vec<Iteration>,
}

/// Sums over all pairs.
pub(super) fn all(pairs: &Pairs) -> Sums {
    pairs.values().fold(Sums::default(), Sums::with)
}

impl Sums {
    pub(super) fn with(self, one: &Self) -> Self {
        Self {
            frames: self.frames + one.frames,
            bytes: self.bytes + one.bytes,
            squares: self.squares + one.squares,
            ce: self.ce + one.ce,
        }
    }
}

/// Simulates a job and reads what left the ports of its switch.
pub(super) fn simulate(railscope: &Path, folder: &Path, seed: u64) -> Result<Job> {
    let scenario = folder.join("job.toml");
    fs::write(&scenario, SCENARIO).context("write the scenario")?;
    let captures = folder.join("job");
    let mut simulate = command(railscope);
    simulate.arg("simulate").arg(&scenario).args(["--seed", &seed.to_string(), "--out"]);
    let output = simulate.arg(&captures).output().context("start railscope")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files: Vec<_> =
        fs::read_dir(&captures)?.map(|one| Ok(one?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "pcapng"));
    files.sort();
    ensure!(files.len() == 4, "{files:?}");
    let report = analyze(railscope, &files[0])?;
    let origin: u64 = report["capture"]["origin_ns"].as_str().context("no origin")?.parse()?;
    let iterations = report["iterations"].as_array().context("no training steps")?;
    let starts: Vec<u64> = iterations.iter().filter_map(|one| one["start_ns"].as_u64()).collect();
    ensure!(starts.len() > 10, "{} training steps", starts.len());
    let starts: Vec<u64> = starts.iter().skip(1).map(|start| origin + start).collect();
    let length = |pair: &[u64]| Iteration { length_ns: pair[1] - pair[0], ..Iteration::default() };
    let mut job = Job { iterations: starts.windows(2).map(length).collect() };
    for (file, port) in files.iter().zip(1_u32..) {
        let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let host = Ipv4Addr::new(10, 0, 0, port as u8);
        packets(&bytes, |time_ns, wire_len, frame| {
            let number = starts.partition_point(|start| *start <= time_ns);
            if let Some(at) = number.checked_sub(1)
                && let Some(iteration) = job.iterations.get_mut(at)
            {
                iteration.take(time_ns - starts[at], port, host, wire_len, frame);
            }
        });
    }
    job.iterations.iter_mut().for_each(|one| one.packets.sort_by_key(|packet| packet.time_ns));
    fs::remove_dir_all(&captures).context("remove captures")?;
    let marks: f64 = job.iterations.iter().map(|one| all(&one.pairs).ce).sum();
    ensure!(marks > 0.0, "no marks");
    Ok(job)
}

impl Iteration {
    /// Takes a packet to `host`, which left through the port to it.
    fn take(&mut self, time_ns: u64, port: u32, host: Ipv4Addr, wire_len: u32, frame: &[u8]) {
        // Ethernet, IPv4 without options, UDP.
        let address = |at: usize| {
            let bytes: [u8; 4] = frame.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(bytes))
        };
        if frame.get(12..14) != Some(&[8, 0]) || address(30) != Some(host) {
            return;
        }
        let header = frame[..frame.len().min(128)].to_vec();
        self.packets.push(Packet { time_ns, port, wire_len, header });
        if frame[23] == 17 && frame.get(36..38) == Some(&4791_u16.to_be_bytes()) {
            let from = address(26).unwrap_or(host);
            let sums = self.pairs.entry((from.to_string(), host.to_string())).or_default();
            let len = f64::from(wire_len);
            sums.frames += 1.0;
            sums.bytes += len;
            sums.squares += len * len;
            sums.ce += f64::from(u8::from(frame[15] & 3 == 3));
        }
    }
}

/// The packets of a pcapng file of the simulator: little-endian, times in nanoseconds.
fn packets(file: &[u8], mut take: impl FnMut(u64, u32, &[u8])) {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?))
    };
    let mut at = 0;
    while let (Some(kind), Some(len)) = (word(at), word(at + 4)) {
        // An enhanced packet block.
        if kind == 6
            && let (Some(high), Some(low)) = (word(at + 12), word(at + 16))
            && let (Some(kept), Some(wire_len)) = (word(at + 20), word(at + 24))
            && let Some(frame) = file.get(at + 28..at + 28 + kept as usize)
        {
            take(u64::from(high) << 32 | u64::from(low), wire_len, frame);
        }
        at += (len as usize).max(12);
    }
}
