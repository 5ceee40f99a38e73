//! How time and memory of `railscope analyze` grow with each kind of input: whole commands on an amount
//! of it, on four times and on sixteen times as much.

mod input;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use self::input::{INPUTS, Input};
use super::process::{Cost, measure};
use super::table::{mebibytes, median};
use crate::recording::Recording;
use crate::repository::command;

const SIZES: [u64; 3] = [1, 4, 16];

/// Most of an exponent; a part that grows with the square shows as 1.5 and more.
const MOST: f64 = 1.2;

/// The kernel counts processor time in hundredths of a second.
const SHORTEST_SECONDS: f64 = 0.03;

/// An input of one size, and what reading it cost.
struct Measured {
    count: u64,
    bytes: u64,
    cost: Cost,
}

/// Measures all inputs and prints the table; returns whether no exponent is too high, of the amount or of
/// the bytes read.
///
/// # Errors
///
/// An input cannot be made or read.
pub(super) fn run(
    railscope: &Path,
    recording: &Recording,
    folder: &Path,
    runs: usize,
) -> Result<bool> {
    println!("\n### Growth\n");
    println!(
        "| input | amount | CPU seconds | 4 times | 16 times | exponent | of the bytes read | memory of each | peak, MiB |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let folder = folder.join("growth");
    let mut is_good = true;
    for input in INPUTS {
        let of_size = |times| {
            let measured = one(railscope, recording, &input, input.least * times, &folder, runs);
            fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
            measured.with_context(|| format!("{times} times {}", input.name))
        };
        let [first, middle, last] = SIZES.map(of_size);
        let (first, middle, last) = (first?, middle?, last?);
        let seconds = |one: &Measured| one.cost.cpu_seconds.max(SHORTEST_SECONDS);
        let growth = (seconds(&last) / seconds(&first)).ln();
        let exponent = growth / (last.count as f64 / first.count as f64).ln();
        let of_bytes = growth / (last.bytes as f64 / first.bytes as f64).ln();
        let memory = last.cost.peak_anon_bytes.saturating_sub(middle.cost.peak_anon_bytes);
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} | {exponent:.2} | {of_bytes:.2} | {} | {:.0} |",
            input.name,
            first.count,
            first.cost.cpu_seconds,
            middle.cost.cpu_seconds,
            last.cost.cpu_seconds,
            memory / (last.count - middle.count),
            mebibytes(last.cost.peak_anon_bytes)
        );
        is_good &= exponent.min(of_bytes) <= MOST;
    }
    println!(
        "\nMemory of each: bytes that the peak of `RssAnon` rises by, from 4 to 16 times the amount; peak: that of 16 times."
    );
    Ok(is_good)
}

/// Makes so much of an input, and reads it so many times: the medians.
fn one(
    railscope: &Path,
    recording: &Recording,
    input: &Input,
    count: u64,
    folder: &Path,
    runs: usize,
) -> Result<Measured> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let files = input.files(railscope, recording, count, folder)?;
    let mut bytes = 0;
    for file in &files {
        bytes += file.metadata().with_context(|| format!("read {}", file.display()))?.len();
    }
    let mut costs = Vec::new();
    for _ in 0..runs {
        let mut analyze = command(railscope);
        // Of ten thousand ranks, more than the default.
        analyze.args(["analyze", "--format", "json", "--max-messages", "16000000"]).args(&files);
        analyze.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        costs.push(measure(analyze, |_| Ok(()))?);
    }
    let cost = Cost {
        seconds: median(costs.iter().map(|one| one.seconds)),
        cpu_seconds: median(costs.iter().map(|one| one.cpu_seconds)),
        peak_anon_bytes: costs.iter().map(|one| one.peak_anon_bytes).max().unwrap_or(0),
    };
    Ok(Measured { count, bytes, cost })
}
