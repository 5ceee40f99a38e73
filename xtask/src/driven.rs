//! `cargo xtask drive`: runs live jobs of `railscope drive` on this machine and compares what railscope
//! finds in their packets with the driver's truth.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::clock::timed;
use crate::repository::{build_railscope, command, root};
use crate::score;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Jobs to run [default: all]
    #[arg(value_name = "JOB", value_parser = JOBS.map(|(name, _)| name))]
    jobs: Vec<String>,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
}

/// Names and options; all have four ranks unless they say otherwise.
const JOBS: [(&str, &str); 12] = [
    ("training", "--iterations 4 --buckets 2MiB,1MiB,300000 --compute 30ms"),
    (
        "training-2.21.5",
        "--iterations 4 --buckets 2MiB,1MiB,300000 --compute 30ms --nccl-wire 2.21.5",
    ),
    ("sweep", "-b 4K -e 4M -f 8 -n 3 --channels 4"),
    ("two-ranks", "--ranks 2 -b 1M -e 4M -f 4 -n 3 --nccl-wire 2.21.5"),
    ("gather", "--collective all_gather -b 1000000 -e 1000000 -n 5"),
    ("scatter", "--collective reduce_scatter -d double -b 4M -e 4M -n 5"),
    ("broadcast", "--collective broadcast --root 1 -d int32 -b 3M -e 3M -n 5"),
    (
        "straggler",
        "--iterations 10 --buckets 1MiB --compute 40ms --jitter 4ms \
         --straggler rank=2,delay=30ms,iterations=5..9",
    ),
    (
        "late-receiver",
        "--iterations 4 --buckets 1MiB --compute 20ms --late-receiver rank=1,delay=3ms",
    ),
    ("loss", "--iterations 4 --buckets 2MiB,1MiB --compute 30ms --loss edge=1-2,share=1%"),
    ("reorder", "--iterations 4 --buckets 2MiB,1MiB --compute 30ms --reorder edge=2-3,share=1%"),
    ("marks", "--iterations 4 --buckets 2MiB,1MiB --compute 30ms --mark-ce edge=0-1,share=5%"),
];

/// `cargo xtask drive`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let is_right = check(&options.jobs, &options.profile)?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the jobs with these names, or all; returns whether railscope found everything, and prints what
/// it did not.
pub(crate) fn check(names: &[String], profile: &str) -> Result<bool> {
    let railscope = build_railscope(profile)?;
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    let mut recordings = Vec::new();
    for (name, options) in JOBS.into_iter().filter(|(name, _)| is_meant(name)) {
        eprint!("{name}: ");
        let (folder, seconds) = timed(|| drive(&railscope, name, options));
        eprintln!("{seconds:.1} s");
        let folder = folder.with_context(|| format!("drive {name}"))?;
        ensure!(
            !options.contains("share=") || has_met_packets(&folder)?,
            "drive {name}: no packet was met by the fault"
        );
        recordings.push(folder);
    }
    score::is_perfect(&recordings, profile)
}

/// Whether the truth lists packets that a fault hit.
fn has_met_packets(folder: &Path) -> Result<bool> {
    let truth = folder.join("truth.jsonl");
    let text = fs::read_to_string(&truth).with_context(|| format!("read {}", truth.display()))?;
    Ok(text.lines().any(|line| line.starts_with(r#"{"record":"injected""#)))
}

/// Whether this process may capture packets.
pub(crate) fn can_capture() -> bool {
    let mut id = command("id");
    let output = id.arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Runs one job, with captures, truth and logs in a folder of its own.
fn drive(railscope: &Path, name: &str, options: &str) -> Result<PathBuf> {
    let folder = root().join("target/driven").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let mut drive = command(railscope);
    drive.arg("drive");
    if !options.contains("--ranks") {
        drive.args(["--ranks", "4"]);
    }
    drive.args(options.split_whitespace()).arg("--record").arg(&folder);
    let output = drive.stdin(Stdio::null()).output().context("start railscope")?;
    let table = folder.join("table.txt");
    fs::write(&table, &output.stdout).with_context(|| format!("write {}", table.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{drive:?}: {}: {}", output.status, said.trim());
    Ok(folder)
}
