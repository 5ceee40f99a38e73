//! The inputs that there can be more of.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::bench::{hostile_tcp, logs, pcap, wire};
use crate::recording::Recording;
use crate::repository::command;

/// An input.
pub(super) struct Input {
    /// What there is more of.
    pub(super) name: &'static str,
    /// The smallest amount.
    pub(super) least: u64,
    make: Make,
}

/// How so much of an input is made.
enum Make {
    /// A capture of packets, each to a queue pair of its own: opcode, and what follows the BTH.
    Packets(u8, &'static [u8]),
    /// A capture of TCP connections.
    Connections,
    /// A log of so many MB.
    Log,
    /// A simulated job, captured at all hosts: its scenario.
    Job(fn(u64) -> String),
}

/// Opcodes of a SEND over UD and of a congestion notification.
const DATAGRAM: u8 = 0x64;
const CNP: u8 = 0x81;

pub(super) const INPUTS: [Input; 12] = [
    Input {
        name: "queue pairs with one WRITE",
        least: 12_000,
        make: Make::Packets(wire::WRITE_ONLY, &[0; 16 + 64]),
    },
    Input {
        name: "queue pairs with one ACK",
        least: 12_000,
        make: Make::Packets(wire::ACKNOWLEDGE, &[0, 0, 0, 1]),
    },
    Input { name: "queue pairs with one CNP", least: 12_000, make: Make::Packets(CNP, &[0; 16]) },
    Input {
        name: "queue pairs with one datagram",
        least: 12_000,
        make: Make::Packets(DATAGRAM, &[1; 8 + 64]),
    },
    Input { name: "TCP connections", least: 10_000, make: Make::Connections },
    Input { name: "MB of a log", least: 20, make: Make::Log },
    Input {
        name: "training steps",
        least: 24,
        make: Make::Job(|count| scenario(4, &[job(0..4, count, "\"64KiB\", \"64KiB\"")])),
    },
    Input {
        name: "collectives of a training step",
        least: 8,
        make: Make::Job(|count| {
            let buckets = vec!["\"32KiB\""; count as usize].join(", ");
            scenario(4, &[job(0..4, 6, &buckets)])
        }),
    },
    Input {
        name: "bytes of a collective, in 64 KiB",
        least: 8,
        make: Make::Job(|count| scenario(4, &[job(0..4, 6, &format!("\"{}KiB\"", 64 * count))])),
    },
    Input {
        name: "communicators of two hosts, and their taps",
        least: 1,
        make: Make::Job(|count| {
            let jobs: Vec<String> =
                (0..count).map(|at| job(2 * at..2 * at + 2, 16, "\"64KiB\"")).collect();
            scenario(2 * count, &jobs)
        }),
    },
    Input {
        name: "ranks in communicators of 16, and the taps of their nodes",
        least: 640,
        make: Make::Job(sharded),
    },
    Input {
        name: "ranks of a ring, and their taps",
        least: 4,
        make: Make::Job(|count| scenario(count, &[job(0..count, 6, "\"64KiB\"")])),
    },
];

impl Input {
    /// Makes so much of it in `folder`; returns what `railscope analyze` reads.
    pub(super) fn files(
        &self,
        railscope: &Path,
        recording: &Recording,
        count: u64,
        folder: &Path,
    ) -> Result<Vec<PathBuf>> {
        match &self.make {
            Make::Packets(opcode, rest) => {
                written(folder.join("packets.pcap"), |out| packets(out, *opcode, rest, count))
            }
            Make::Connections => written(folder.join("connections.pcap"), |out| {
                hostile_tcp::write(count as u32, out)
            }),
            Make::Log => {
                let path = folder.join("job.log");
                logs::Lines::new(recording)?.write(&path, count * 1_000_000)?;
                Ok(vec![path])
            }
            Make::Job(scenario) => simulated(railscope, &scenario(count), folder),
        }
    }
}

fn written(
    path: PathBuf,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<Vec<PathBuf>> {
    let make = || {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        write(&mut out)?;
        out.flush()
    };
    make().with_context(|| format!("write {}", path.display()))?;
    Ok(vec![path])
}

/// Packets between two hosts, a microsecond apart.
fn packets(out: &mut impl Write, opcode: u8, rest: &[u8], count: u64) -> io::Result<()> {
    out.write_all(&pcap::FILE_HEADER)?;
    for at in 0..count {
        let frame = wire::frame(opcode, rest, 2 + at as u32);
        let time_ns = 1_700_000_000_000_000_000 + at * 1_000;
        out.write_all(&pcap::record_header(time_ns, frame.len(), frame.len() as u32))?;
        out.write_all(&frame)?;
    }
    Ok(())
}

/// GPUs of a node, and nodes over which each of them reduces gradients with its counterparts.
const GPUS: u64 = 8;
const REPLICAS: u64 = 16;

/// A job on nodes of eight GPUs that shares its model among GPUs and groups of nodes: each GPU of a node reduces
/// gradients with one of each of fifteen others.
fn sharded(ranks: u64) -> String {
    let nodes = ranks / GPUS;
    let groups = (0..nodes / REPLICAS).flat_map(|group| (0..GPUS).map(move |_| group * REPLICAS));
    let settings = "channels = 5\nwarmup = 0\niterations = 1\nbuckets = [\"160KiB\"]";
    let jobs: Vec<String> =
        groups.map(|first| job_with(first..first + REPLICAS, settings)).collect();
    let fabric = format!("hosts = {nodes}\nrails = {GPUS}\nhosts_per_leaf = 32\nspines = 8");
    scenario_with(&fabric, &jobs)
}

fn scenario(hosts: u64, jobs: &[String]) -> String {
    scenario_with(&format!("hosts = {hosts}"), jobs)
}

fn scenario_with(fabric: &str, jobs: &[String]) -> String {
    format!("title = \"growth\"\nseed = 1\n\n[fabric]\n{fabric}\n\n{}", jobs.concat())
}

fn job(hosts: Range<u64>, iterations: u64, buckets: &str) -> String {
    job_with(hosts, &format!("iterations = {iterations}\nbuckets = [{buckets}]"))
}

fn job_with(hosts: Range<u64>, settings: &str) -> String {
    let hosts: Vec<String> = hosts.map(|host| host.to_string()).collect();
    let hosts = hosts.join(", ");
    format!("[[job]]\nhosts = [{hosts}]\ncompute = \"2ms\"\njitter = \"50us\"\n{settings}\n\n")
}

fn simulated(railscope: &Path, scenario: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let path = folder.join("scenario.toml");
    fs::write(&path, scenario).with_context(|| format!("write {}", path.display()))?;
    let job = folder.join("job");
    let mut simulate = command(railscope);
    simulate.arg("simulate").arg(&path).arg("--out").arg(&job);
    let output = simulate.output().context("start railscope simulate")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "railscope simulate: {}", said.trim());
    let mut captures = Vec::new();
    for entry in fs::read_dir(&job).with_context(|| format!("list {}", job.display()))? {
        let path = entry.context("list a folder")?.path();
        if path.extension().is_some_and(|extension| extension == "pcapng") {
            captures.push(path);
        }
    }
    captures.sort();
    Ok(captures)
}
