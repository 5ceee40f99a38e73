//! `cargo xtask bench`: railscope against the tools that people use today, on a large capture with one
//! queue pair and one with very many; the cost of linking, on an NCCL job; memory on a longer capture;
//! the cost of capturing; the frames of a mirror port; or build times.

mod build;
mod captured;
mod files;
mod growth;
mod hostile_tcp;
mod job;
mod job_traffic;
mod logs;
mod made;
mod mirror;
mod packed;
mod pcap;
mod pcapng;
mod process;
mod table;
mod template;
mod tool;
mod traffic;
mod verify;
mod watched;
mod wire;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::recording::Recording;
use crate::repository::{build_railscope, command, root};
use job::Job;
use made::Made;
use process::{Cost, measure};
use table::{Goals, Level, MEBIBYTE, Row};
use template::Template;
use tool::Tool;

/// 1.09 GB of frames cut at 128 bytes, every ninth an ACK.
const FRAMES: u64 = 8_000_000;

/// The part that slow tools read.
const PREFIX_FRAMES: u64 = 500_000;

const MEMORY_BYTES: u64 = 10_000_000_000;
const MEMORY_QUEUE_PAIRS: u32 = 1000;
const MEMORY: Level = Level { goal: 128.0 * MEBIBYTE, floor: 256.0 * MEBIBYTE };

const ONE: Goals = Goals {
    frames_per_core_second: Level { goal: 20e6, floor: 8e6 },
    times_capinfos: Level { goal: 1.5, floor: 1.15 },
};

const MANY: Goals = Goals {
    frames_per_core_second: Level { goal: 10e6, floor: 3e6 },
    times_capinfos: Level { goal: 0.75, floor: 0.5 },
};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Frames of each made capture [default: 8000000; with --memory, 10 GB of them]
    #[arg(long)]
    frames: Option<u64>,
    /// Queue pairs of the second capture.
    #[arg(long, default_value_t = 100_000)]
    queue_pairs: u32,
    /// Times that each tool runs; the tools take turns.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// What to compare with: all, none, or some of tshark, tcpdump, capinfos.
    #[arg(long, default_value = "all", value_name = "NAMES")]
    peers: String,
    /// The real capture to repeat: RDMA WRITEs and their ACKs, nanoseconds, IPv4.
    #[arg(long, default_value = "tests/fixtures/write_bw_rc_s128.pcap.gz", value_name = "FILE")]
    capture: PathBuf,
    /// Make the captures in this folder, not in target/bench, and leave them there.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// The recorded job to let go on: NCCL 2.24 to 2.29 over IPv4, nothing lost.
    #[arg(long, default_value = "tests/captures/ring-2.27.5.tar.zst", value_name = "FILE")]
    job: PathBuf,
    /// Bytes of the capture of that job.
    #[arg(long, default_value_t = 1_000_000_000, value_name = "BYTES")]
    job_bytes: u64,
    /// Another build of railscope to run beside this one on that job.
    #[arg(long, value_name = "PROGRAM")]
    other: Option<PathBuf>,
    /// The profile of cargo to build railscope with: dist is what packages carry, release what
    /// `cargo run --release` builds.
    #[arg(long, default_value = "dist", value_name = "NAME")]
    profile: String,
    /// Measure builds of railscope instead: the first one, and the one after a changed line.
    #[arg(long, conflicts_with_all = ["memory", "hostile_tcp", "watched"])]
    build: bool,
    /// A revision to build beside the checkout.
    #[arg(long, value_name = "REVISION", requires = "build")]
    against: Option<String>,
    /// Measure railscope's memory instead, on 1,000 queue pairs through standard input.
    #[arg(long)]
    memory: bool,
    /// Measure railscope's memory instead, on this many TCP connections that say nothing we know.
    #[arg(long, value_name = "CONNECTIONS", conflicts_with = "memory")]
    hostile_tcp: Option<u32>,
    /// Measure the agent's cost instead, over this many pairs of jobs with and without it; as root.
    #[arg(long, value_name = "PAIRS", conflicts_with_all = ["memory", "hostile_tcp"])]
    watched: Option<usize>,
    /// Measure `railscope capture` instead, beside tcpdump and dumpcap at three rates; as root.
    #[arg(long, conflicts_with_all = ["memory", "hostile_tcp", "watched"])]
    captured: bool,
    /// Measure what a frame of a 100 Gb/s mirror port costs a core instead, beside tcpdump and
    /// dumpcap; as root.
    #[arg(long, conflicts_with_all = ["memory", "hostile_tcp", "watched", "captured"])]
    mirror: bool,
    /// Measure the reading of a log of this many bytes instead, beside grep.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "1000000000",
          conflicts_with_all = ["memory", "hostile_tcp", "watched", "captured", "mirror"])]
    logs: Option<u64>,
    /// Measure how time and memory grow with each kind of input instead.
    #[arg(long, conflicts_with_all = ["memory", "hostile_tcp", "watched", "captured", "mirror", "logs"])]
    growth: bool,
    /// Measure the reading of compressed captures instead, beside pigz and zstd.
    #[arg(long, conflicts_with_all = ["memory", "hostile_tcp", "watched", "captured", "mirror", "logs", "growth"])]
    packed: bool,
    /// Measure the reading of this many captures at once instead, on one thread and more.
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "8",
          value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["memory", "hostile_tcp", "watched", "captured", "mirror", "logs", "growth", "packed"])]
    files: Option<u32>,
}

impl Options {
    /// Where captures are made.
    fn folder(&self) -> Result<PathBuf> {
        let folder = root().join(self.keep.as_deref().unwrap_or(Path::new("target/bench")));
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// `cargo xtask bench`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    println!("{}", host());
    if options.build {
        build::run(options.against.as_deref(), options.runs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let template = Template::read(&root().join(&options.capture))?;
    let railscope = build_railscope(&options.profile)?;
    println!("profile of the build: {}", options.profile);
    if let Some(pairs) = options.watched {
        watched::run(&railscope, pairs)?;
    } else if options.captured {
        captured::run(&railscope, &template, &options.folder()?, options.runs)?;
    } else if options.mirror {
        mirror::run(&railscope, options.runs)?;
    } else if let Some(bytes) = options.logs {
        let recording = Recording::read(&root().join(&options.job))?;
        logs::run(&railscope, &recording, bytes, &options.folder()?, options.runs)?;
    } else if options.growth {
        let recording = Recording::read(&root().join(&options.job))?;
        if !growth::run(&railscope, &recording, &options.folder()?, options.runs)? {
            return Ok(ExitCode::FAILURE);
        }
    } else if options.packed {
        let frames = options.frames.unwrap_or(FRAMES);
        packed::run(&railscope, &template, frames, &options.folder()?, options.runs)?;
    } else if let Some(count) = options.files {
        let frames = options.frames.unwrap_or(FRAMES);
        files::run(&railscope, &template, (count, frames), &options.folder()?, options.runs)?;
    } else if let Some(connections) = options.hostile_tcp {
        measure_hostile_tcp(connections, &railscope)?;
    } else if options.memory {
        measure_memory(options, &template, &railscope)?;
    } else {
        compare(options, &template, &railscope)?;
        measure_linking(options, &railscope)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(options: &Options, template: &Template, railscope: &Path) -> Result<()> {
    let folder = options.folder()?;
    let frames = options.frames.unwrap_or(FRAMES);
    let tools = Tool::choose(&options.peers)?;
    for (queue_pairs, goals) in [(1, ONE), (options.queue_pairs, MANY)] {
        let title = format!("{frames} frames, queue pairs: {queue_pairs}");
        eprintln!("making {title}");
        let make = |frames| {
            let name = format!("{queue_pairs}-queue-pairs-{frames}-frames.pcap");
            Made::new(folder.join(name), |out| {
                traffic::write(template, queue_pairs, frames, out).map(|()| frames)
            })
        };
        let whole = make(frames)?;
        let prefix = make(frames.min(PREFIX_FRAMES))?;
        let mut rows = Vec::new();
        for &tool in &tools {
            let made = if tool.reads_prefix() { &prefix } else { &whole };
            let is_ready = tool != Tool::Railscope
                || verify::verify(railscope, &made.path, made.frames)?.is_some();
            if !is_ready {
                continue;
            }
            rows.push((Row { tool, frames: made.frames, costs: Vec::new() }, made.path.as_path()));
        }
        whole.warm()?;
        prefix.warm()?;
        take_turns(options.runs, |_| railscope, &mut rows)?;
        let rows: Vec<Row> = rows.into_iter().map(|(row, _)| row).collect();
        table::print(&title, &rows, &goals);
        if options.keep.is_none() {
            whole.remove()?;
            prefix.remove()?;
        }
    }
    Ok(())
}

/// Runs every row's tool on its capture, one after the other, again and again.
fn take_turns<'a>(
    runs: usize,
    railscope: impl Fn(Tool) -> &'a Path,
    rows: &mut [(Row, &Path)],
) -> Result<()> {
    for run in 1..=runs {
        eprintln!("run {run} of {runs}");
        for (row, capture) in &mut *rows {
            let cost = measure(row.tool.command(railscope(row.tool), capture), |_| Ok(()))?;
            row.costs.push(cost);
        }
    }
    Ok(())
}

/// railscope on a job of NCCL, with and without linking traffic to it.
fn measure_linking(options: &Options, railscope: &Path) -> Result<()> {
    let job = Job::new(&Recording::read(&root().join(&options.job))?)?;
    eprintln!("making a job of {} bytes", options.job_bytes);
    let made = Made::new(options.folder()?.join("job.pcapng"), |out| {
        job_traffic::write(&job, options.job_bytes, out)
    })?;
    if let Some(verified) = verify::verify(railscope, &made.path, made.frames)? {
        made.warm()?;
        let row = |tool| Row { tool, frames: made.frames, costs: Vec::new() };
        let other = options.other.as_deref();
        let tools = [Tool::Railscope, Tool::Unlinked, Tool::AllCores];
        let tools = tools.into_iter().chain(other.map(|_| Tool::Other));
        let mut rows: Vec<_> = tools.map(|tool| (row(tool), made.path.as_path())).collect();
        let program = |tool| other.filter(|_| tool == Tool::Other).unwrap_or(railscope);
        take_turns(options.runs, program, &mut rows)?;
        let collectives = verified.collectives;
        let title = format!("{} frames of a job of NCCL, collectives: {collectives}", made.frames);
        let rows: Vec<Row> = rows.into_iter().map(|(row, _)| row).collect();
        table::print_linking(&title, &rows);
    }
    if options.keep.is_none() {
        made.remove()?;
    }
    Ok(())
}

fn measure_hostile_tcp(connections: u32, railscope: &Path) -> Result<()> {
    let cost = measure_fed(railscope, |out| hostile_tcp::write(connections, out))?;
    println!("\n### Hostile TCP\n");
    println!(
        "* {connections} connections of {} frames through standard input in {:.1} s",
        hostile_tcp::FRAMES,
        cost.seconds
    );
    table::print_memory(cost.peak_anon_bytes, &MEMORY);
    Ok(())
}

/// Measures railscope on a capture that `write` writes into its standard input.
fn measure_fed(
    railscope: &Path,
    write: impl FnOnce(&mut BufWriter<ChildStdin>) -> io::Result<()>,
) -> Result<Cost> {
    let mut analyze = command(railscope);
    analyze.args(["analyze", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
    measure(analyze, |child| {
        let Some(stdin) = child.stdin.take() else { return Ok(()) };
        let mut out = BufWriter::with_capacity(1 << 20, stdin);
        write(&mut out)?;
        out.flush()
    })
}

fn measure_memory(options: &Options, template: &Template, railscope: &Path) -> Result<()> {
    let frames = options
        .frames
        .unwrap_or_else(|| traffic::frames_for(template, MEMORY_QUEUE_PAIRS, MEMORY_BYTES));
    let cost =
        measure_fed(railscope, |out| traffic::write(template, MEMORY_QUEUE_PAIRS, frames, out))?;
    println!("\n### Memory\n");
    println!(
        "* {frames} frames of {MEMORY_QUEUE_PAIRS} queue pairs through standard input in {:.1} s",
        cost.seconds
    );
    table::print_memory(cost.peak_anon_bytes, &MEMORY);
    Ok(())
}

/// Processor and kernel: numbers mean nothing without them.
fn host() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{}, {cores} cores, Linux {}",
        model.map_or("unknown processor", |(_, model)| model),
        kernel.trim()
    )
}
