//! railscope on several captures at once, by number of threads, beside a program that reads record headers
//! only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::made::Made;
use super::process::{Cost, measure};
use super::table::{MEBIBYTE, median};
use super::template::Template;
use super::traffic;
use crate::repository::command;

/// Numbers of threads to compare; the first is the measure of the others.
const THREADS: [&str; 3] = ["1", "2", "4"];

/// Queue pairs of all files together.
const QUEUE_PAIRS: [u32; 2] = [64, 100_000];

/// Makes `count` captures of `frames` frames in all, and measures who reads them.
pub(super) fn run(
    railscope: &Path,
    template: &Template,
    (count, frames): (u32, u64),
    folder: &Path,
    runs: usize,
) -> Result<()> {
    for queue_pairs in QUEUE_PAIRS {
        let each = frames / u64::from(count);
        let make = |number: u32| {
            Made::new(folder.join(["file", &number.to_string(), ".pcap"].concat()), |out| {
                traffic::write(template, queue_pairs.div_ceil(count), each, out).map(|()| each)
            })
        };
        let made = (0..count).map(make).collect::<Result<Vec<Made>>>()?;
        made.iter().try_for_each(Made::warm)?;
        let paths: Vec<PathBuf> = made.iter().map(|made| made.path.clone()).collect();
        println!(
            "\n### {count} files, {} frames, {queue_pairs} queue pairs: medians of {runs}\n",
            each * u64::from(count)
        );
        println!("| | seconds | times one thread | CPU seconds | M frames/s | MiB |");
        println!("|---|--:|--:|--:|--:|--:|");
        let mut readers: Vec<(String, Vec<Cost>)> =
            THREADS.iter().map(|threads| (format!("`--threads {threads}`"), Vec::new())).collect();
        readers.push(("`capinfos -c`".to_owned(), Vec::new()));
        for _ in 0..runs {
            for (at, (_, costs)) in readers.iter_mut().enumerate() {
                let reader = reader(railscope, THREADS.get(at).copied(), &paths);
                costs.push(measure(reader, |_| Ok(()))?);
            }
        }
        let seconds = |costs: &[Cost]| median(costs.iter().map(|cost| cost.seconds));
        let one = readers.first().map_or(0.0, |(_, costs)| seconds(costs));
        for (name, costs) in &readers {
            let own = seconds(costs);
            println!(
                "| {name} | {own:.2} | {:.2} | {:.2} | {:.1} | {:.0} |",
                one / own,
                median(costs.iter().map(|cost| cost.cpu_seconds)),
                frames as f64 / own / 1e6,
                median(costs.iter().map(|cost| cost.peak_anon_bytes as f64)) / MEBIBYTE,
            );
        }
        made.iter().try_for_each(Made::remove)?;
    }
    Ok(())
}

/// railscope on so many threads, or its peer.
fn reader(railscope: &Path, threads: Option<&str>, files: &[PathBuf]) -> Command {
    let mut reader = match threads {
        Some(threads) => {
            let mut railscope = command(railscope);
            railscope.args(["analyze", "--threads", threads]);
            railscope
        }
        None => {
            let mut capinfos = command("capinfos");
            capinfos.arg("-c");
            capinfos
        }
    };
    reader.args(files).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    reader
}
