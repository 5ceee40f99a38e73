//! Clean jobs with many training steps: how often chance alone names a rank.
//!
//! All ranks of a job are alike. Compute varies evenly, normally or with a heavy tail; some jobs are
//! interrupted by evaluation, checkpoints and garbage collection, or begin slowly.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use serde::Deserialize;

use super::draw::{Drawn, Source};
use super::kind::Expected;
use super::{analyze, interval, workers};
use crate::repository::root;

/// Long jobs, and short ones, in which chance has the most to say: training steps and jobs.
const SIMULATED: [(u32, u64); 2] = [(100, 70), (12, 70)];

/// Training steps and jobs of the driver.
const DRIVEN: (u32, u64) = (150, 4);

/// A group of clean jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Clean {
    /// What made their compute vary.
    name: &'static str,
    jobs: u64,
    /// Jobs with a verdict above `info`.
    alarms: u64,
    iterations: u64,
    /// Training steps between the beginning and the end of such a verdict.
    alarmed: u64,
    /// Training steps whose straggler nothing delayed but chance.
    named: u64,
}

/// What of a report is counted.
#[derive(Debug, Deserialize)]
struct Said {
    #[serde(default)]
    verdicts: Vec<Verdict>,
    iterations: Vec<Iteration>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    title: String,
    severity: String,
    since_ns: Option<i64>,
    until_ns: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct Iteration {
    iteration: u32,
    start_ns: i64,
    end_ns: i64,
    straggler: Option<Straggler>,
}

#[derive(Debug, Deserialize)]
struct Straggler {
    rank: u32,
}

/// A clean job.
#[derive(Clone, Debug)]
struct Job {
    name: &'static str,
    drawn: Drawn,
    /// Ranks that a pause of their own delayed, with the number of the training step.
    delayed: BTreeSet<(u32, u32)>,
}

/// Makes and counts clean jobs: simulated ones two at a time, then driven ones.
pub(super) fn measure(railscope: &Path, is_judging: bool) -> Result<Vec<Clean>> {
    let seed = |at: u64| 2 * at + u64::from(is_judging);
    let of_length =
        |(iterations, jobs): (u32, u64)| (0..jobs).map(move |at| simulated(seed(at), iterations));
    let simulated: Vec<Job> = SIMULATED.into_iter().flat_map(of_length).collect();
    let (iterations, jobs) = DRIVEN;
    let driven: Vec<Job> = (0..jobs).map(|at| driven(seed(at), iterations)).collect();
    let folder = root().join("target/incidents/clean");
    let count = |(at, job): (usize, &Job)| {
        count(railscope, job, &folder.join(at.to_string()))
            .with_context(|| format!("clean job {at}"))
    };
    let mut counted = workers(2, &simulated, |at, job| count((at, job)))?;
    for at_job in driven.iter().enumerate() {
        counted.push(count(at_job)?);
    }
    let mut groups: Vec<Clean> = Vec::new();
    for one in counted {
        match groups.iter_mut().find(|group| group.name == one.name) {
            Some(group) => group.add(&one),
            None => groups.push(one),
        }
    }
    Ok(groups)
}

fn count(railscope: &Path, job: &Job, folder: &Path) -> Result<Clean> {
    let (_, document) = analyze(railscope, &job.drawn, folder)?;
    let said: Said = serde_json::from_slice(&document).context("read the report")?;
    fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    let alarms: Vec<&Verdict> =
        said.verdicts.iter().filter(|verdict| verdict.severity != "info").collect();
    for alarm in &alarms {
        eprintln!("clean job, {}: {}\n{}", job.name, alarm.title, job.drawn.source.recipe());
    }
    let is_alarmed = |one: &&Iteration| {
        let is_before = |alarm: &Verdict| alarm.until_ns.is_some_and(|until| until < one.start_ns);
        let is_after = |alarm: &Verdict| alarm.since_ns.is_some_and(|since| since > one.end_ns);
        alarms.iter().any(|alarm| !is_before(alarm) && !is_after(alarm))
    };
    let is_chance = |one: &&Iteration| {
        let straggler = one.straggler.as_ref();
        straggler.is_some_and(|late| !job.delayed.contains(&(late.rank, one.iteration)))
    };
    let iterations =
        |is: &dyn Fn(&&Iteration) -> bool| said.iterations.iter().filter(is).count() as u64;
    Ok(Clean {
        name: job.name,
        jobs: 1,
        alarms: u64::from(!alarms.is_empty()),
        iterations: said.iterations.len() as u64,
        alarmed: iterations(&is_alarmed),
        named: iterations(&is_chance),
    })
}

impl Clean {
    fn add(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.alarms += other.alarms;
        self.iterations += other.iterations;
        self.alarmed += other.alarmed;
        self.named += other.named;
    }
}

/// A job of the simulator.
fn simulated(seed: u64, iterations: u32) -> Job {
    let mut rng =
        Rng::with_seed(seed.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(iterations)));
    let hosts = rng.u32(2..=8);
    let compute_us = rng.u32(4_000..16_000);
    let (name, shape, most) = match seed / 2 % 3 {
        0 => ("even", "uniform", 0.5),
        1 => ("normal", "normal", 0.2),
        _ => ("heavy tail", "heavy_tailed", 0.1),
    };
    let jitter_us = f64::from(compute_us) * (0.005 + (most - 0.005) * rng.f64());
    let cpu = if rng.bool() { "ahead" } else { "synchronous" };
    let mut scenario = format!(
        "title = \"clean\"\nseed = {seed}\n\n[fabric]\nhosts = {hosts}\nhosts_per_leaf = 4\n\n\
         [capture]\npause_frames = false\n\n[[job]]\niterations = {iterations}\nchannels = 1\n\
         compute = \"{compute_us}us\"\njitter = \"{jitter_us:.0}us\"\njitter_shape = \"{shape}\"\n\
         cpu = \"{cpu}\"\nbuckets = [\"64KiB\"]\n"
    );
    if rng.bool() {
        let purpose = if rng.bool() { "evaluation" } else { "checkpoint" };
        let (after, time_us) = (rng.u32(2..iterations - 2), compute_us * rng.u32(5..15));
        let pause = format!("after = {after}, time = \"{time_us}us\", purpose = \"{purpose}\"");
        writeln!(scenario, "pause = [{{ {pause} }}]").unwrap_or_default();
    }
    let mut delays = Vec::new();
    if rng.bool() {
        // Garbage collection: any rank, now and then.
        for _ in 0..iterations.div_ceil(12) {
            let (rank, iteration) = (rng.u32(0..hosts), rng.u32(1..iterations));
            delays.push((rank, iteration, compute_us * rng.u32(10..40) / 100));
        }
    }
    if rng.bool() {
        delays.push((rng.u32(0..hosts), 0, compute_us * rng.u32(2..6)));
    }
    for (rank, iteration, delay_us) in &delays {
        write!(
            scenario,
            "\n[[straggler]]\nrank = {rank}\ndelay = \"{delay_us}us\"\ncause = \"compute\"\n\
             iterations = [{iteration}, {iteration}]\n"
        )
        .unwrap_or_default();
    }
    let source = Source::Simulated { scenario };
    let expected = Expected { ring: hosts, ..Expected::default() };
    // The report counts the step that warms up, too.
    let delayed = delays.into_iter().map(|(rank, iteration, _)| (rank, iteration + 1)).collect();
    Job { name, drawn: Drawn { source, is_cut: false, expected, second: None }, delayed }
}

/// A job of the driver.
fn driven(seed: u64, iterations: u32) -> Job {
    let ranks = 2 + seed as u32 / 2 % 3;
    let options = format!(
        "--ranks {ranks} --place netns --iterations {iterations} --buckets 64KiB --compute 8ms \
         --jitter 2ms --seed {seed}"
    );
    let options = options.split_whitespace().map(str::to_owned).collect();
    let source = Source::Driven { options, runs: 1 };
    let expected = Expected { ring: ranks, ..Expected::default() };
    let drawn = Drawn { source, is_cut: false, expected, second: None };
    Job { name: "driven", drawn, delayed: BTreeSet::new() }
}

/// The table, with the bound on false alarms.
pub(super) fn section(groups: &[Clean]) -> String {
    let mut text = "\n### Chance\n\n".to_owned()
        + "Clean jobs whose ranks are all alike; compute varies by chance. A training step is a false alarm if it\n\
           lies between the beginning and the end of a verdict above `info`.\n\n\
           | compute varies | jobs | with an alarm | training steps | false alarms | ranks named in a step |\n\
           | --- | --: | --: | --: | --: | --: |\n";
    let mut all = Clean { name: "all", ..Clean::default() };
    groups.iter().for_each(|group| all.add(group));
    for one in groups.iter().chain([&all]) {
        let Clean { name, jobs, alarms, iterations, alarmed, named } = one;
        let _ =
            writeln!(text, "| {name} | {jobs} | {alarms} | {iterations} | {alarmed} | {named} |");
    }
    let _ = write!(
        text,
        "\nFalse alarms: {} of {} training steps, at most {:.3} % (95 %, Clopper and Pearson); {} of {} jobs, \
         at most {:.2} %.\n",
        all.alarmed,
        all.iterations,
        100.0 * interval::upper_bound(all.alarmed, all.iterations),
        all.alarms,
        all.jobs,
        100.0 * interval::upper_bound(all.alarms, all.jobs),
    );
    text
}
