//! railscope on compressed captures, on one core and on all, beside programs that only decompress.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::made::Made;
use super::process::{Cost, measure};
use super::table::median;
use super::template::Template;
use super::traffic;
use crate::repository::{command, is_installed};

/// How each capture is packed, and unpacked to be thrown away.
const WAYS: [(&str, &str, &str); 2] =
    [("gz", "gzip -c", "pigz -dc"), ("zst", "zstd -qc", "zstd -dcq")];

/// Who reads a file.
#[derive(Clone, Copy)]
enum Reader {
    Peer(&'static str),
    OneCore,
    AllCores,
}

impl Reader {
    fn command(self, railscope: &Path, file: &Path) -> Command {
        let mut reader = match self {
            Self::Peer(words) => split(words),
            Self::OneCore => split("taskset -c 0"),
            Self::AllCores => command(railscope),
        };
        match self {
            Self::Peer(_) => {}
            Self::OneCore => _ = reader.arg(railscope).arg("analyze"),
            Self::AllCores => _ = reader.arg("analyze"),
        }
        reader.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        reader
    }
}

/// Packs a capture of `frames` frames in `folder`, and measures who reads it.
pub(super) fn run(
    railscope: &Path,
    template: &Template,
    frames: u64,
    folder: &Path,
    runs: usize,
) -> Result<()> {
    let plain = Made::new(folder.join("packed.pcap"), |out| {
        traffic::write(template, 64, frames, out).map(|()| frames)
    })?;
    println!("\n### Compressed captures: {frames} frames, medians of {runs}, seconds\n");
    println!(
        "| | only decompressing | `railscope`, one core | all cores | share of the peer's speed |"
    );
    println!("|---|--:|--:|--:|--:|");
    let [one, all] = [Reader::OneCore, Reader::AllCores];
    let [one, all] = medians(&[one, all], railscope, &plain.path, runs)?[..] else { return Ok(()) };
    println!("| plain | | {one:.2} | {all:.2} | |");
    for (kind, pack_by, peer) in WAYS {
        let path = folder.join(["packed.pcap.", kind].concat());
        pack(pack_by, &plain.path, &path)?;
        let program = peer.split(' ').next().unwrap_or_default();
        ensure!(is_installed(program), "{program} is not installed");
        let readers = [Reader::Peer(peer), Reader::OneCore, Reader::AllCores];
        let seconds = medians(&readers, railscope, &path, runs)?;
        let [peers, one, all] = seconds[..] else { return Ok(()) };
        let share = 100.0 * peers / all;
        println!("| {kind} | `{peer}`: {peers:.2} | {one:.2} | {all:.2} | {share:.0} % |");
        remove(path)?;
    }
    plain.remove()
}

/// Median seconds of each reader; they take turns, and the first turn only brings the file into the page cache.
fn medians(readers: &[Reader], railscope: &Path, file: &Path, runs: usize) -> Result<Vec<f64>> {
    let mut costs: Vec<Vec<Cost>> = readers.iter().map(|_| Vec::new()).collect();
    for run in 0..=runs {
        for (costs, reader) in costs.iter_mut().zip(readers) {
            let cost = measure(reader.command(railscope, file), |_| Ok(()))?;
            if run > 0 {
                costs.push(cost);
            }
        }
    }
    Ok(costs.iter().map(|costs| median(costs.iter().map(|cost| cost.seconds))).collect())
}

/// Writes what a program makes of a file into another.
fn pack(by: &str, from: &Path, to: &Path) -> Result<()> {
    let out = File::create(to).with_context(|| format!("create {}", to.display()))?;
    let status = split(by).arg(from).stdout(out).status().with_context(|| by.to_owned())?;
    ensure!(status.success(), "{by}: {status}");
    Ok(())
}

/// A program and its arguments.
fn split(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut program = command(words.next().unwrap_or_default());
    program.args(words);
    program
}

fn remove(path: PathBuf) -> Result<()> {
    std::fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))
}
