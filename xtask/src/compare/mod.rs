//! `cargo xtask compare`: how often `railscope compare` finds a difference between equal jobs, how often
//! it finds one of 5 %, and how often its intervals hold the truth.

mod made_up;
mod simulated;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::incident::interval;
use crate::repository::{build_railscope, command, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Pairs of simulated jobs of each kind of noise
    #[arg(long, default_value_t = 100, value_name = "N")]
    pairs: u64,
    /// Pairs of made-up reports of each kind of noise
    #[arg(long, default_value_t = 1000, value_name = "N")]
    made_up: u64,
    /// Training steps of a job that are compared
    #[arg(long = "steps", default_value_t = 30, value_name = "N")]
    iterations: u32,
    /// First seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    program: Option<PathBuf>,
}

/// Share by which the slower job of a pair is slower.
const SLOWER: f64 = 0.05;

/// What one kind of noise showed.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    /// Equal jobs whose first line names a difference.
    false_answers: usize,
    /// Equal jobs with any other row that does.
    false_rows: usize,
    /// Equal jobs with either.
    false_any: usize,
    /// Slower jobs that are said to be slower.
    found: usize,
    /// Intervals of slower jobs that hold the true change.
    held: usize,
    /// Sum of the smallest changes that data could show.
    smallest: f64,
}

/// What of a comparison is counted.
#[derive(Debug, Deserialize)]
struct Said {
    answer: Option<Row>,
    rows: Vec<Row>,
    mismatches: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Row {
    outcome: String,
    before: Option<Figure>,
    change_low: Option<f64>,
    change_high: Option<f64>,
    smallest_relative: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Figure {
    mean: f64,
    values: u64,
}

impl Row {
    fn differs(&self) -> bool {
        matches!(self.outcome.as_str(), "higher" | "lower")
    }
}

impl Tally {
    /// Adds a comparison of equal jobs, and one with a job that is slower by `truth_ns`.
    fn add(&mut self, equal: &Said, slower: &Said, truth_ns: f64, iterations: u32) -> Result<()> {
        for said in [equal, slower] {
            ensure!(said.mismatches.is_empty(), "the jobs do the same work: {said:?}");
        }
        let answer = |said: &'_ Said| said.answer.is_some();
        ensure!(answer(equal) && answer(slower), "no training steps were found");
        let (Some(same), Some(more)) = (&equal.answer, &slower.answer) else { return Ok(()) };
        let values = same.before.as_ref().map(|figure| figure.values);
        ensure!(values == Some(iterations.into()), "{values:?} steps, not {iterations}");
        let rows = equal.rows.iter().any(Row::differs);
        self.pairs += 1;
        self.false_answers += usize::from(same.differs());
        self.false_rows += usize::from(rows);
        self.false_any += usize::from(rows || same.differs());
        self.found += usize::from(more.outcome == "higher");
        let (low, high) =
            (more.change_low.unwrap_or(f64::NAN), more.change_high.unwrap_or(f64::NAN));
        self.held += usize::from(low <= truth_ns && truth_ns <= high);
        self.smallest += same.smallest_relative.unwrap_or(f64::NAN);
        Ok(())
    }
}

/// `cargo xtask compare`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let railscope = match &options.program {
        Some(program) => program.clone(),
        None => build_railscope(&options.profile)?,
    };
    let folder = root().join("target/compare");
    std::fs::create_dir_all(&folder).context("make target/compare")?;
    println!(
        "| noise of a training step | pairs | equal jobs: first line differs | any row differs | \
         5 % slower: found | interval holds the truth | shows from |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let mut is_right = true;
    let mut all = |name: &str, tally: &Tally| {
        println!("{}", line(name, tally));
        // Chance alone must be able to explain what is more than 5 %.
        is_right &= interval::wilson(tally.false_answers, tally.pairs)[0] <= 0.05;
    };
    for noise in simulated::NOISES {
        all(noise.name, &simulated::measure(&railscope, noise, options, &folder)?);
    }
    for noise in made_up::NOISES {
        all(noise.name, &made_up::measure(&railscope, noise, options, &folder)?);
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(name: &str, tally: &Tally) -> String {
    let share = |hits: usize| {
        let [least, most] = interval::wilson(hits, tally.pairs).map(|end| 100.0 * end.max(0.0));
        let share = 100.0 * hits as f64 / tally.pairs.max(1) as f64;
        format!("{share:.1} % ({least:.1} to {most:.1})")
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {:.1} % |",
        tally.pairs,
        share(tally.false_answers),
        share(tally.false_any),
        share(tally.found),
        share(tally.held),
        100.0 * tally.smallest / tally.pairs.max(1) as f64
    )
}

/// What railscope says about two sides.
fn compare(railscope: &Path, before: &Path, after: &Path) -> Result<Said> {
    let mut compare = command(railscope);
    compare.args(["compare", "--format", "json"]).arg(before).arg(after);
    serde_json::from_slice(&output(&mut compare)?).context("read the comparison")
}

/// Standard output of a command that must succeed.
fn output(command: &mut std::process::Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.trim());
    Ok(output.stdout)
}
