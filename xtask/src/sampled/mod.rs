//! `cargo xtask sampled`: packets of simulated jobs, drawn as switches draw them, and how often what
//! railscope says of all packets holds the truth.

mod draw;
mod truth;

// The suite's encoder: neither shares code with the decoder.
#[path = "../../../tests/support/sflow.rs"]
#[expect(dead_code, unreachable_pub, reason = "the suite uses more of it")]
mod encoder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::draw::Passed;
use self::truth::Job;
use crate::incident::interval;
use crate::repository::{build_railscope, command, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Draws at each rate
    #[arg(long, default_value_t = 1000, value_name = "N")]
    trials: u64,
    /// Simulated jobs that the draws take turns with
    #[arg(long, default_value_t = 4, value_name = "N")]
    jobs: u64,
    /// Training steps of each draw
    #[arg(long, default_value_t = 200, value_name = "N")]
    iterations: usize,
    /// By how much training steps differ in length: standard deviations, by their mean
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.01, 0.03], value_name = "SHARE")]
    variations: Vec<f64>,
    /// Rates: one packet in N is drawn
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 10_000], value_name = "N")]
    rates: Vec<u32>,
    /// First seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Fail if intervals hold the truth in less than 93 % or more than 97 %, or are more than 1.3 times as wide
    /// as the binomial ones; of the length of a training step, if less than 93 % of any jobs, or more than 97 % of
    /// all
    #[arg(long)]
    check: bool,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    program: Option<PathBuf>,
}

/// Drawn packets that a figure needs to be judged: below, a share of few packets is anything.
const EXPECTED: f64 = 5.0;

/// The figure whose interval cannot know how much training steps differ: it is judged over all jobs.
const TRAINING_STEP: &str = "training step";

/// How one figure fared.
#[derive(Debug, Default)]
struct Tally {
    judged: usize,
    held: usize,
    /// Half-widths by the truth.
    relative: f64,
    /// Half-widths by those of the binomial interval.
    ratio: f64,
}

impl Tally {
    /// Adds a range; `binomial` is half the width of the usual interval at the true value.
    fn add(&mut self, range: &Value, truth: f64, binomial: Option<f64>) {
        let [low, high] =
            [&range["low"], &range["high"]].map(|end| end.as_f64().unwrap_or(f64::NAN));
        self.add_ends(low, high, truth, binomial);
    }

    fn with(self, other: &Self) -> Self {
        Self {
            judged: self.judged + other.judged,
            held: self.held + other.held,
            relative: self.relative + other.relative,
            ratio: self.ratio + other.ratio,
        }
    }

    fn add_ends(&mut self, low: f64, high: f64, truth: f64, binomial: Option<f64>) {
        self.judged += 1;
        self.held += usize::from(low <= truth && truth <= high);
        let half = (high - low) / 2.0;
        self.relative += half / truth;
        self.ratio += binomial.map_or(f64::NAN, |binomial| half / binomial);
    }
}

/// The quantile of the normal distribution that leaves 2.5 % above.
const Z: f64 = 1.96;

/// `cargo xtask sampled`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let railscope = match &options.program {
        Some(program) => program.clone(),
        None => build_railscope(&options.profile)?,
    };
    let folder = root().join("target/sampled");
    std::fs::create_dir_all(&folder).context("make target/sampled")?;
    let jobs: Vec<Job> = (0..options.jobs)
        .map(|at| truth::simulate(&railscope, &folder, options.seed + at))
        .collect::<Result<_>>()?;
    println!(
        "| one in | figure | judged | holds the truth | half-width | by the binomial one |\n\
         |--:|---|--:|--:|--:|--:|"
    );
    let mut is_right = true;
    for rate in &options.rates {
        let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
        let mut rhythms = 0;
        for trial in 0..options.trials {
            let job = &jobs[usize::try_from(trial)? % jobs.len()];
            let seed = options.seed + trial + (u64::from(*rate) << 32);
            let path = folder.join("drawn.pcap");
            for variation in &options.variations {
                let passed = draw::write(&path, job, *rate, options.iterations, *variation, seed)?;
                let report = analyze(&railscope, &path)?;
                // Sums depend on nothing but the packets: once is enough.
                if Some(variation) == options.variations.last() {
                    judge(&report, &passed, *rate, &mut tallies)?;
                }
                let name = format!("{TRAINING_STEP}, varies by {:.0} %", 100.0 * variation);
                rhythms += usize::from(judge_rhythm(&report, &passed, name, &mut tallies));
            }
        }
        let all = tallies.iter().filter(|(name, _)| name.starts_with(TRAINING_STEP));
        let all = all.fold(Tally::default(), |sum, (_, tally)| sum.with(tally));
        tallies.insert(format!("{TRAINING_STEP}, all"), all);
        for (name, tally) in tallies.iter().filter(|(_, tally)| tally.judged > 0) {
            println!("{}", line(*rate, name, tally));
            is_right &= is_good(name, tally);
        }
        let of = options.trials as usize * options.variations.len();
        println!("| 1 : {rate} | a rhythm was found | {of} | {rhythms} | | |");
    }
    Ok(if is_right || !options.check { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds what the report says of each sum and share.
fn judge(
    report: &Value,
    passed: &Passed,
    rate: u32,
    tallies: &mut BTreeMap<String, Tally>,
) -> Result<()> {
    let switch = &report["sampled"][0];
    ensure!(switch["side"] == "egress", "no samples: {}", report["sampled"]);
    let chance = 1.0 / f64::from(rate);
    let total = |sum: f64, squares: f64| (sum, Z * (squares * (1.0 - chance) / chance).sqrt());
    let mut add = |name: &str, range: &Value, truth: f64, binomial: f64| {
        tallies.entry(name.to_owned()).or_default().add(range, truth, Some(binomial));
    };
    let all = truth::all(&passed.pairs);
    let (frames, half) = total(all.frames, all.frames);
    add("RoCE packets", &switch["roce_frames"], frames, half);
    let (bytes, half) = total(all.bytes, all.squares);
    add("RoCE bytes", &switch["roce_bytes"], bytes, half);
    let binomial = |share: f64, of: f64| Z * (share * (1.0 - share) / (of * chance)).sqrt();
    let share = all.ce / all.frames;
    add("CE share", &switch["ce_share"], share, binomial(share, frames));
    let pairs = switch["pairs"].as_array().context("no pairs")?;
    for ((from, to), sums) in &passed.pairs {
        let (frames, half) = total(sums.frames, sums.frames);
        if frames * chance < EXPECTED {
            continue;
        }
        let seen = pairs.iter().find(|pair| pair["src"] == **from && pair["dst"] == **to);
        let Some(seen) = seen else {
            tallies.entry("packets of a pair".to_owned()).or_default().judged += 1;
            continue;
        };
        let mut add = |name: &str, range: &Value, truth: f64, binomial: f64| {
            tallies.entry(name.to_owned()).or_default().add(range, truth, Some(binomial));
        };
        add("packets of a pair", &seen["frames"], frames, half);
        let (bytes, half) = total(sums.bytes, sums.squares);
        add("bytes of a pair", &seen["bytes"], bytes, half);
        if sums.ce * chance >= EXPECTED {
            let share = sums.ce / sums.frames;
            add("CE share of a pair", &seen["ce_share"], share, binomial(share, frames));
        }
    }
    Ok(())
}

/// Adds what the report says of the length of a training step. Returns whether it says something.
fn judge_rhythm(
    report: &Value,
    passed: &Passed,
    name: String,
    tallies: &mut BTreeMap<String, Tally>,
) -> bool {
    let rhythm = &report["sampled"][0]["rhythm"];
    if rhythm.is_null() {
        return false;
    }
    let end = |name: &str| rhythm[name].as_f64().unwrap_or(f64::NAN);
    let tally = tallies.entry(name).or_default();
    tally.add_ends(end("low_ns"), end("high_ns"), passed.iteration_ns, None);
    true
}

/// Whether chance can explain what is outside 93 to 97 %, and whether it is not too wide.
fn is_good(name: &str, tally: &Tally) -> bool {
    let [least, most] = interval::wilson(tally.held, tally.judged);
    let is_narrow = tally.ratio.is_nan() || tally.ratio / tally.judged as f64 <= 1.3;
    let is_one_kind = name.starts_with(TRAINING_STEP) && !name.ends_with("all");
    let is_right = most >= 0.93 && (least <= 0.97 || is_one_kind) && is_narrow;
    if !is_right {
        eprintln!("{name}: {} of {} is not 93 to 97 %, or too wide", tally.held, tally.judged);
    }
    is_right
}

fn line(rate: u32, name: &str, tally: &Tally) -> String {
    let of = tally.judged.max(1) as f64;
    let [least, most] = interval::wilson(tally.held, tally.judged).map(|end| 100.0 * end);
    let ratio = match tally.ratio / of {
        ratio if ratio.is_nan() => String::new(),
        ratio => format!("{ratio:.2}"),
    };
    format!(
        "| 1 : {rate} | {name} | {} | {:.1} % ({least:.1} to {most:.1}) | {:.2} % | {ratio} |",
        tally.judged,
        100.0 * tally.held as f64 / of,
        100.0 * tally.relative / of
    )
}

fn analyze(railscope: &Path, capture: &Path) -> Result<Value> {
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]).arg(capture);
    let output = analyze.output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{analyze:?}: {}: {}", output.status, said.trim());
    serde_json::from_slice(&output.stdout).context("read the report")
}
