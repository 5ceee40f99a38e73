//! `cargo xtask bench`: railscope beside the tools that people use today, on one large capture with
//! one queue pair and one with very many; or its memory over a longer one.

mod process;
mod table;
mod template;
mod tool;
mod traffic;
mod verify;
mod wire;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::repository::{build_railscope, command, root};
use process::measure;
use table::{Goals, Level, MEBIBYTE, Row};
use template::Template;
use tool::Tool;

/// 1.09 GB of frames cut at 128 bytes, every ninth an ACK.
const FRAMES: u64 = 8_000_000;

/// What slow tools read instead.
const PREFIX_FRAMES: u64 = 500_000;

const MEMORY_BYTES: u64 = 10_000_000_000;
const MEMORY_QUEUE_PAIRS: u32 = 1000;
const MEMORY: Level = Level { goal: 128.0 * MEBIBYTE, floor: 256.0 * MEBIBYTE };

const ONE: Goals = Goals {
    frames_per_core_second: Level { goal: 20e6, floor: 8e6 },
    times_tshark: 150.0,
    times_tcpdump: 30.0,
    times_capinfos: 1.0,
};

const MANY: Goals = Goals {
    frames_per_core_second: Level { goal: 10e6, floor: 3e6 },
    times_tshark: 75.0,
    times_tcpdump: 15.0,
    times_capinfos: 0.5,
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
    /// Measure railscope's memory instead, on 1,000 queue pairs through standard input.
    #[arg(long)]
    memory: bool,
}

/// `cargo xtask bench`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let template = Template::read(&root().join(&options.capture))?;
    let railscope = build_railscope("release")?;
    println!("{}", host());
    if options.memory {
        measure_memory(options, &template, &railscope)?;
    } else {
        compare(options, &template, &railscope)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(options: &Options, template: &Template, railscope: &Path) -> Result<()> {
    let folder = root().join(options.keep.as_deref().unwrap_or(Path::new("target/bench")));
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let frames = options.frames.unwrap_or(FRAMES);
    let tools = Tool::choose(&options.peers)?;
    for (queue_pairs, goals) in [(1, ONE), (options.queue_pairs, MANY)] {
        let title = format!("{frames} frames, queue pairs: {queue_pairs}");
        eprintln!("making {title}");
        let whole = Made::new(template, &folder, queue_pairs, frames)?;
        let prefix = Made::new(template, &folder, queue_pairs, frames.min(PREFIX_FRAMES))?;
        let mut rows = Vec::new();
        for &tool in &tools {
            let made = if tool.reads_prefix() { &prefix } else { &whole };
            let is_ready =
                tool != Tool::Railscope || verify::verify(railscope, &made.path, made.frames)?;
            if !is_ready {
                continue;
            }
            rows.push((Row { tool, frames: made.frames, costs: Vec::new() }, made));
        }
        whole.warm()?;
        prefix.warm()?;
        for run in 1..=options.runs {
            eprintln!("run {run} of {}", options.runs);
            for (row, made) in &mut rows {
                let cost = measure(row.tool.command(railscope, &made.path), |_| Ok(()))?;
                row.costs.push(cost);
            }
        }
        let rows: Vec<Row> = rows.into_iter().map(|(row, _)| row).collect();
        table::print(&title, &rows, &goals);
        if options.keep.is_none() {
            whole.remove()?;
            prefix.remove()?;
        }
    }
    Ok(())
}

fn measure_memory(options: &Options, template: &Template, railscope: &Path) -> Result<()> {
    let frames = options
        .frames
        .unwrap_or_else(|| traffic::frames_for(template, MEMORY_QUEUE_PAIRS, MEMORY_BYTES));
    let mut analyze = command(railscope);
    analyze.args(["analyze", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let feed = |child: &mut Child| {
        let Some(stdin) = child.stdin.take() else { return Ok(()) };
        let mut out = BufWriter::with_capacity(1 << 20, stdin);
        traffic::write(template, MEMORY_QUEUE_PAIRS, frames, &mut out)
    };
    let cost = measure(analyze, feed)?;
    println!("\n### Memory\n");
    println!(
        "* {frames} frames of {MEMORY_QUEUE_PAIRS} queue pairs through standard input in {:.1} s",
        cost.seconds
    );
    table::print_memory(cost.peak_anon_bytes, &MEMORY);
    Ok(())
}

/// A capture made for this run.
struct Made {
    path: PathBuf,
    frames: u64,
}

impl Made {
    fn new(template: &Template, folder: &Path, queue_pairs: u32, frames: u64) -> Result<Self> {
        let path = folder.join(format!("{queue_pairs}-queue-pairs-{frames}-frames.pcap"));
        let write = || -> io::Result<()> {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
            traffic::write(template, queue_pairs, frames, &mut out)?;
            // Written out now rather than while the tools run.
            out.get_ref().sync_all()
        };
        write().with_context(|| format!("write {}", path.display()))?;
        Ok(Self { path, frames })
    }

    /// Brings the whole file into the page cache: disks are not what is compared.
    fn warm(&self) -> Result<()> {
        let read = || io::copy(&mut File::open(&self.path)?, &mut io::sink());
        read().map(drop).with_context(|| format!("read {}", self.path.display()))
    }

    fn remove(&self) -> Result<()> {
        // The prefix of a short capture is the capture: it is already gone.
        if self.path.exists() {
            fs::remove_file(&self.path)
                .with_context(|| format!("remove {}", self.path.display()))?;
        }
        Ok(())
    }
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
