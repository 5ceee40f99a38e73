//! `cargo xtask soak`: an agent on hours of jobs that come and go, some of them broken: what it costs must
//! stay where it is once its window is full.
//!
//! Four hosts are network namespaces; the agent watches the ports of all of them.

mod job;
mod ledger;
mod sample;
mod slope;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use railscope_testbed::agent::Agent;
use railscope_testbed::fabric::Fabric;
use serde_json::Value;

use self::job::{Job, Plan, RANKS};
use self::ledger::Ledger;
use self::sample::{COLUMNS, Sample};
use self::slope::Trend;
use crate::clock::Stopwatch;
use crate::repository::{build_railscope, root};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(5);

/// Time between two lines that say how far it is.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Time between two looks at the job.
const ATTEND_EVERY: Duration = Duration::from_millis(100);

/// A shorter run says nothing of what stays where it is: each third of it must hold the jobs of a cycle.
const LEAST_SECONDS: f64 = 3.0 * job::CYCLE_SECONDS;

/// In a short run, one in so many healthy jobs may have an alarm.
const ALARMED: usize = 20;

/// Most memory, in MiB.
const MOST_MEMORY: f64 = 48.0;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long, in hours
    #[arg(long, default_value_t = 2.0, value_name = "H")]
    hours: f64,
    /// The agent's window, in seconds: what comes before it is full does not count
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    window: u64,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
}

/// `cargo xtask soak`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    Ok(if soak(options)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Two cycles of jobs: that faults are found, and nothing else.
pub(crate) fn check(profile: &str) -> Result<bool> {
    soak(&Options {
        hours: 2.0 * job::CYCLE_SECONDS / 3600.0,
        window: 60,
        profile: profile.to_owned(),
    })
}

fn soak(options: &Options) -> Result<bool> {
    ensure!(nix::unistd::geteuid().is_root(), "a soak needs root, for network namespaces");
    let folder = root().join("target/soak");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    // Later builds must not change the program under it.
    let program = folder.join("railscope");
    let built = build_railscope(&options.profile)?;
    fs::copy(&built, &program).with_context(|| format!("copy {}", built.display()))?;
    let csv = folder.join("soak.csv");
    let soak = Soak {
        length: Duration::from_secs_f64(options.hours * 3600.0),
        window: Duration::from_secs(options.window),
        csv: csv.clone(),
    };
    let program = program.to_str().context("the path of railscope is not UTF-8")?;
    let (samples, ledger) = Fabric::run(program, RANKS, move |fabric| soak.watch(fabric))?;
    let window = options.window as f64;
    Ok(report(&samples, &ledger, window, &csv))
}

struct Soak {
    length: Duration,
    window: Duration,
    csv: PathBuf,
}

impl Soak {
    fn watch(&self, fabric: &Fabric) -> Result<(Vec<Sample>, Ledger)> {
        let ports: Vec<String> =
            (0..fabric.hosts()).map(|host| format!("\"port{host}\"")).collect();
        let interfaces = format!("taps.interfaces=[{}]", ports.join(","));
        let window = format!("window.length=\"{}s\"", self.window.as_secs());
        let agent = fabric.mirror_agent(&[&interfaces, &window, "otlp.interval=\"1s\""]);
        let mut csv = File::create(&self.csv).context("create the table")?;
        writeln!(csv, "{}", Sample::header()).context("write the table")?;
        let mut ledger = Ledger::default();
        let mut samples = Vec::new();
        let age = Stopwatch::start();
        let mut job: Option<Job> = None;
        let mut number = 0;
        let (mut next_look, mut next_word) = (Duration::ZERO, TELL_EVERY);
        while age.elapsed() < self.length {
            match &mut job {
                Some(running) => {
                    if running.attend() {
                        job = None;
                        ledger.end(now());
                    }
                }
                None => {
                    ledger.begin(Plan::of(number), now());
                    job = Some(Job::start(fabric, number));
                    number += 1;
                }
            }
            if age.elapsed() >= next_look {
                next_look += EVERY;
                let at = (age.elapsed().as_secs_f64(), ledger.jobs());
                let sample = look(&agent, at, &mut ledger)?;
                writeln!(csv, "{}", sample.line()).context("write the table")?;
                samples.push(sample);
            }
            if age.elapsed() >= next_word {
                next_word += TELL_EVERY;
                eprintln!("{}", so_far(&samples, &ledger));
            }
            std::thread::sleep(ATTEND_EVERY);
        }
        Ok((samples, ledger))
    }
}

/// How far a soak is, and what it has seen: it takes hours.
fn so_far(samples: &[Sample], ledger: &Ledger) -> String {
    let minutes = samples.last().map_or(0.0, |last| last.seconds / 60.0);
    let memory = samples.iter().map(|one| one.values[0]).fold(0.0, f64::max);
    let found = ledger.found().into_iter();
    let found: Vec<String> =
        found.map(|(fault, jobs, found)| format!("{} {found}/{jobs}", fault.name())).collect();
    let (healthy, alarms) = ledger.alarms("critical");
    format!(
        "{minutes:.0} min: {} jobs; {}; alarms on {healthy} healthy: {alarms:?}; at most {memory:.1} MiB",
        ledger.jobs(),
        found.join(", "),
    )
}

fn look(agent: &Agent, at: (f64, u64), ledger: &mut Ledger) -> Result<Sample> {
    let report = agent.get("/report.json").context("the agent gives no report")?;
    let metrics = agent.get("/metrics").context("the agent gives no metrics")?;
    let parsed: Value = serde_json::from_str(&report).context("read the agent's report")?;
    ledger.read(&parsed);
    Sample::take(agent.pid(), &metrics, &report, &parsed, at)
}

/// Nanoseconds since the epoch, as reports count.
#[expect(clippy::disallowed_methods, reason = "jobs are found in reports by their time")]
fn now() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as i128)
}

/// Prints what was seen; whether all of it is as it must be.
fn report(samples: &[Sample], ledger: &Ledger, window: f64, csv: &Path) -> bool {
    let seconds = samples.last().map_or(0.0, |last| last.seconds);
    println!(
        "\n{} jobs in {:.2} h, a look every {} s, all of them in {}\n",
        ledger.jobs(),
        seconds / 3600.0,
        EVERY.as_secs(),
        csv.display()
    );
    println!(
        "| after the window is full | first third | last third | slope per hour (95 %) | highest | |"
    );
    println!("|---|--:|--:|--:|--:|---|");
    let full: Vec<&Sample> = samples.iter().filter(|one| one.seconds > window).collect();
    let mut is_good = !full.is_empty();
    let is_long = seconds - window >= LEAST_SECONDS;
    for (at, (name, chance)) in COLUMNS.into_iter().enumerate() {
        let value = |one: &&Sample| (one.seconds, one.values[at]);
        let mut points: Vec<(f64, f64)> = full.iter().map(value).collect();
        let mut name = name.to_owned();
        if chance.is_infinite() {
            // What it used, as a share of the time between two looks.
            let share = |pair: &[(f64, f64)]| {
                (pair[1].0, 100.0 * (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
            };
            points = points.windows(2).map(share).collect();
            name = "CPU, % of a core".to_owned();
        }
        let Some(trend) = Trend::of(&points) else {
            println!("| {name} | too few looks after the window was full | | | | |");
            is_good = false;
            continue;
        };
        let is_flat = trend.is_flat(if chance.is_infinite() { 0.5 } else { chance });
        is_good &= is_flat || !is_long;
        let judged = match (is_flat, is_long) {
            (true, _) => "flat",
            (false, true) => "**not flat**",
            (false, false) => "too short a run to tell",
        };
        println!(
            "| {name} | {:.1} | {:.1} | {:+.2} ± {:.2} | {:.1} | {judged} |",
            trend.first, trend.last, trend.slope, trend.half, trend.most,
        );
    }
    let most = full.iter().map(|one| one.values[0]).fold(0.0, f64::max);
    is_good &= most <= MOST_MEMORY;
    println!("\n* memory at most {most:.1} MiB, of {MOST_MEMORY:.0}");
    for (fault, jobs, found) in ledger.found() {
        println!("* {}: found in {found} of {jobs} jobs", fault.name());
        // A rank that is killed while all compute is missed by nobody: its job looks as if it had ended.
        is_good &= found == jobs || !is_long && 2 * found >= jobs;
    }
    for severity in ["critical", "warning"] {
        let (healthy, classes) = ledger.alarms(severity);
        println!("* {severity} verdicts on {healthy} healthy jobs: {classes:?}");
        let most = if is_long { 0 } else { healthy / ALARMED };
        is_good &= severity != "critical" || classes.values().sum::<usize>() <= most;
    }
    for mistake in ledger.mistakes() {
        println!("    {mistake}");
    }
    is_good
}
