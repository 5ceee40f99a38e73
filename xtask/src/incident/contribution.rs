//! What `iterations[].contributions` say against what did make training steps long.
//!
//! In one training step a rank is late and packets are lost, in another one the rank is late again.
//! The truth is by subtraction: the same job, with the same seed, is simulated without faults, with
//! the late rank, and with both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde::Deserialize;

use super::draw::{Drawn, Source};
use super::kind::Expected;
use super::{analyze, workers};
use crate::repository::root;

/// Jobs.
const JOBS: u64 = 40;

/// Training steps of a job, after the one that warms up.
const ITERATIONS: u32 = 16;

/// The training step with both faults, and the one with the late rank alone.
const FAULTY: [u32; 2] = [5, 10];

/// Smaller shares of a training step are not judged: ranks always differ a little.
const LEAST_SHARE: f64 = 0.05;

/// The beginning of virtual time, in nanoseconds since 1970.
const ORIGIN_NS: u64 = 1_767_225_600_000_000_000;

/// One contribution: what is said and what is true.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    cause: Cause,
    /// It acts beside another one.
    is_beside: bool,
    said_ns: u64,
    true_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    LateRank,
    Loss,
}

#[derive(Debug, Deserialize)]
struct Said {
    iterations: Vec<Iteration>,
}

#[derive(Debug, Deserialize)]
struct Iteration {
    iteration: u32,
    excess_ns: Option<u64>,
    remainder_ns: Option<u64>,
    contributions: Vec<Contribution>,
}

#[derive(Debug, Deserialize)]
struct Contribution {
    rank: u32,
    cause: String,
    ns: u64,
}

/// A line of a truth file; other records lack what is asked for.
#[derive(Debug, Deserialize)]
struct Record {
    record: String,
    iteration: Option<u32>,
    start_ns: Option<u64>,
    end_ns: Option<u64>,
}

/// When each training step began and ended, in virtual time.
pub(crate) type Spans = BTreeMap<u32, (u64, u64)>;

/// Makes the jobs and compares.
pub(super) fn measure(railscope: &Path, is_judging: bool) -> Result<Vec<Sample>> {
    let seeds: Vec<u64> = (0..JOBS).map(|at| 2 * at + u64::from(is_judging)).collect();
    let of_job = |_: usize, seed: &u64| {
        let folder = root().join("target/incidents/contributions").join(seed.to_string());
        samples(railscope, *seed, &folder).with_context(|| format!("contributions, seed {seed}"))
    };
    Ok(workers(2, &seeds, of_job)?.concat())
}

fn samples(railscope: &Path, seed: u64, folder: &Path) -> Result<Vec<Sample>> {
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9));
    let hosts = rng.u32(2..=8);
    let compute_us = rng.u32(8_000..16_000);
    let (late, lossy) = (rng.u32(0..hosts), rng.u32(0..hosts));
    let job = format!(
        "title = \"contributions\"\nseed = {seed}\n\n[fabric]\nhosts = {hosts}\nhosts_per_leaf = 4\n\n\
         [capture]\npause_frames = false\n\n[[job]]\niterations = {ITERATIONS}\n\
         compute = \"{compute_us}us\"\njitter = \"{}us\"\nib_timeout = {}\n",
        compute_us / 100,
        rng.u32(10..=13)
    );
    let delay_us = compute_us * rng.u32(20..80) / 100;
    let straggler = |number: u32| {
        format!(
            "\n[[straggler]]\nrank = {late}\ndelay = \"{delay_us}us\"\ncause = \"compute\"\n\
             iterations = [{number}, {number}]\n"
        )
    };
    let with_late = job.clone() + &FAULTY.map(straggler).concat();
    let share = rng.u32(5..30);
    let run = |name: &str, scenario: &str| {
        let source = Source::Simulated { scenario: scenario.to_owned() };
        let expected = Expected { ring: hosts, ..Expected::default() };
        let drawn = Drawn { source, is_cut: false, expected, second: None };
        let folder = folder.join(name);
        let (_, document) = analyze(railscope, &drawn, &folder)?;
        let said: Said = serde_json::from_slice(&document).context("read the report")?;
        anyhow::Ok((said, spans(&folder.join("job/truth.jsonl"))?))
    };
    let (_, clean) = run("clean", &job)?;
    let (_, alone) = run("late", &with_late)?;
    let [both, second] = FAULTY;
    let (from, until) = *alone.get(&both).context("the truth has the training step")?;
    let loss = format!(
        "\n[[loss]]\nport = \"leaf{}:host{lossy}\"\nshare = \"{share}%\"\nfrom = \"{from}ns\"\n\
         until = \"{until}ns\"\n",
        lossy / 4
    );
    let (said, truth) = run("both", &(with_late + &loss))?;
    fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    let longer = |one: &Spans, other: &Spans, number| {
        Some(length_ns(one, number)?.saturating_sub(length_ns(other, number)?))
    };
    let sample = |cause, number, is_beside, true_ns: Option<u64>| {
        let true_ns = true_ns.context("the truth lacks a training step")?;
        // The report counts the step that warms up, too.
        let said_ns = said.share_ns(number + 1, late, cause)?;
        anyhow::Ok(Sample { cause, is_beside, said_ns, true_ns })
    };
    let all = [
        sample(Cause::LateRank, both, true, longer(&alone, &clean, both))?,
        sample(Cause::Loss, both, true, longer(&truth, &alone, both))?,
        sample(Cause::LateRank, second, false, longer(&alone, &clean, second))?,
    ];
    let usual_ns = length_ns(&clean, 2).context("the truth lacks a training step")?;
    let is_judged = |sample: &Sample| sample.true_ns as f64 >= LEAST_SHARE * usual_ns as f64;
    Ok(all.into_iter().filter(is_judged).collect())
}

impl Said {
    /// What the report says that a cause added to a training step.
    fn share_ns(&self, number: u32, late: u32, cause: Cause) -> Result<u64> {
        let iteration = self.iterations.iter().find(|one| one.iteration == number);
        let iteration = iteration.context("the report lacks a training step")?;
        let sum_ns: u64 = iteration.contributions.iter().map(|one| one.ns).sum();
        ensure!(
            iteration.excess_ns.unwrap_or(0) == sum_ns + iteration.remainder_ns.unwrap_or(0),
            "training step {number}: contributions and remainder are not the excess"
        );
        let is_of = |one: &&Contribution| match cause {
            Cause::Loss => one.cause == "loss",
            Cause::LateRank => {
                one.rank == late && ["enqueue", "compute", "sender"].contains(&one.cause.as_str())
            }
        };
        Ok(iteration.contributions.iter().filter(is_of).map(|one| one.ns).sum())
    }
}

/// The training steps of a truth file.
pub(crate) fn spans(truth: &Path) -> Result<Spans> {
    let text = fs::read_to_string(truth).with_context(|| format!("read {}", truth.display()))?;
    let mut spans = Spans::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).context("read the truth")?;
        if let Record { record, iteration: Some(number), start_ns: Some(start), end_ns: Some(end) } =
            record
            && record == "iteration"
        {
            spans.insert(number, (start.saturating_sub(ORIGIN_NS), end.saturating_sub(ORIGIN_NS)));
        }
    }
    Ok(spans)
}

/// From the end of the previous training step to the end of this one.
pub(crate) fn length_ns(spans: &Spans, number: u32) -> Option<u64> {
    let before = number.checked_sub(1)?;
    Some(spans.get(&number)?.1.saturating_sub(spans.get(&before)?.1))
}

/// The table of errors.
pub(super) fn section(samples: &[Sample]) -> String {
    let mut text = "\n### Contributions\n\n".to_owned()
        + "What `iterations[].contributions` say that a fault added to a training step, against what it added: the same\n\
           job is simulated without it. Errors are shares of the truth.\n\n\
           | what made the step longer | steps | named | median error | nine in ten below |\n\
           | --- | --: | --: | --: | --: |\n";
    let rows = [
        ("a late rank alone", Cause::LateRank, false),
        ("a late rank, beside loss", Cause::LateRank, true),
        ("loss, beside a late rank", Cause::Loss, true),
    ];
    for (name, cause, is_beside) in rows {
        let of = |one: &&Sample| one.cause == cause && one.is_beside == is_beside;
        let all: Vec<&Sample> = samples.iter().filter(of).collect();
        let named = all.iter().filter(|one| one.said_ns > 0).count();
        let mut errors: Vec<f64> = all.iter().map(|one| one.error()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * errors.len() as f64) as usize;
            errors.get(place).map_or("-".to_owned(), |error| format!("{:.1} %", 100.0 * error))
        };
        let _ = writeln!(text, "| {name} | {} | {named} | {} | {} |", all.len(), at(0.5), at(0.9));
    }
    text
}

impl Sample {
    fn error(&self) -> f64 {
        self.said_ns.abs_diff(self.true_ns) as f64 / self.true_ns.max(1) as f64
    }
}
