//! railscope on a long log of a job, beside `grep -c NCCL`.
//!
//! The log is a recorded job's, all ranks in one file: first NCCL's lines of its start, then, again and
//! again, its lines of calls, each beside a line of training. So half of the lines are NCCL's, as with
//! `NCCL_DEBUG_SUBSYS=COLL`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::process::{Cost, measure};
use super::table::{Level, MEBIBYTE, median, print_memory, verdict};
use crate::recording::Recording;
use crate::repository::command;

/// Bytes per second of one core.
const SPEED: Level = Level { goal: 300e6, floor: 300e6 };
const MEMORY: Level = Level { goal: 32.0 * MEBIBYTE, floor: 64.0 * MEBIBYTE };

/// What shows that memory does not grow with the log.
const SHORT_PART: u64 = 10;

/// Makes logs of `bytes`, and of a tenth of it, in `folder` and measures them.
pub(super) fn run(
    railscope: &Path,
    recording: &Recording,
    bytes: u64,
    folder: &Path,
    runs: usize,
) -> Result<()> {
    let lines = Lines::new(recording)?;
    let [long, short] =
        [("long.log", bytes), ("short.log", bytes / SHORT_PART)].map(|(name, bytes)| {
            let path = folder.join(name);
            lines.write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
            anyhow::Ok(path)
        });
    let (long, short) = (long?, short?);
    let railscope = |log: &Path| {
        let mut analyze = command(railscope);
        analyze.args(["analyze", "--nccl-log"]).arg(log);
        analyze
    };
    let grep = || {
        let mut grep = command("grep");
        grep.args(["-c", "NCCL"]).arg(&long);
        grep
    };
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for run in 1..=runs {
        eprintln!("run {run} of {runs}");
        for (costs, mut tool) in costs.iter_mut().zip([railscope(&long), grep(), railscope(&short)])
        {
            // Where nobody reads its output, grep ends with the first match.
            let out = File::create(folder.join("out")).context("create a file for output")?;
            tool.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
            costs.push(measure(tool, |_| Ok(()))?);
        }
    }
    println!("\n### {:.1} GB of logs\n", bytes as f64 / 1e9);
    println!("| tool | seconds | CPU seconds | MB/s of a core | MiB |");
    println!("|---|--:|--:|--:|--:|");
    let peak = |costs: &[Cost]| costs.iter().map(|one| one.peak_anon_bytes).max().unwrap_or(0);
    let speed = |costs: &[Cost], bytes: u64| {
        bytes as f64 / median(costs.iter().map(|one| one.cpu_seconds.max(one.seconds)))
    };
    let names = ["railscope analyze --nccl-log", "grep -c NCCL", "railscope, a tenth of it"];
    for ((name, costs), bytes) in names.iter().zip(&costs).zip([bytes, bytes, bytes / SHORT_PART]) {
        println!(
            "| `{name}` | {:.2} | {:.2} | {:.0} | {:.1} |",
            median(costs.iter().map(|one| one.seconds)),
            median(costs.iter().map(|one| one.cpu_seconds)),
            speed(costs, bytes) / 1e6,
            peak(costs) as f64 / MEBIBYTE,
        );
    }
    let per_core = speed(&costs[0], bytes);
    println!(
        "\n* {:.0} MB/s: {}",
        per_core / 1e6,
        verdict(per_core >= SPEED.goal, per_core >= SPEED.floor)
    );
    print_memory(peak(&costs[0]), &MEMORY);
    let made = [long, short, folder.join("out")];
    made.iter().try_for_each(std::fs::remove_file).context("remove the logs")
}

/// The lines of a recorded job.
pub(super) struct Lines<'a> {
    start: Vec<&'a [u8]>,
    calls: Vec<&'a [u8]>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(recording: &'a Recording) -> Result<Self> {
        let is_call =
            |line: &&[u8]| contains(line, b": opCount ") || contains(line, b" Bytes -> Algo ");
        let lines = recording.logs().flat_map(|log| log.split(|byte| *byte == b'\n'));
        let (calls, start): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(is_call);
        ensure!(!calls.is_empty(), "{} has no log with calls", recording.name);
        Ok(Self { start, calls })
    }

    pub(super) fn write(&self, path: &Path, bytes: u64) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut written = 0;
        let mut line = |parts: &[&[u8]]| -> io::Result<u64> {
            parts.iter().try_for_each(|part| out.write_all(part))?;
            out.write_all(b"\n")?;
            Ok(parts.iter().map(|part| part.len() as u64).sum::<u64>() + 1)
        };
        for one in &self.start {
            written += line(&[one])?;
        }
        for (number, call) in self.calls.iter().cycle().enumerate() {
            if written >= bytes {
                break;
            }
            let training = format!(
                "[2026-11-20 15:10:{:02}] iteration {number:8}/ 1000000 | consumed samples: {number} | \
                 elapsed time per iteration (ms): 412.5 | lm loss: 2.417E+00 | grad norm: 0.871",
                number / 1000 % 60
            );
            written += line(&[call])? + line(&[training.as_bytes()])?;
        }
        out.flush()
    }
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}
