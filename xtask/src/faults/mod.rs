//! `cargo xtask faults`: an agent on a job whose system calls fail now and then, that is stopped, whose clock is
//! set, or that looks at what hangs: it must go on, count what it lost, and be as before soon after.

mod fault;
mod page;
mod stage;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, ExitCode};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use railscope_testbed::agent::Agent;
use railscope_testbed::fabric::Fabric;

use self::fault::Fault;
use self::page::Page;
use self::stage::Stage;
use crate::clock::Stopwatch;
use crate::repository::{build_railscope, command, root};

/// Hosts of the job.
const HOSTS: usize = 2;

/// Counters that rise now and then without a loss: frames of other protocols, what the window forgets, frames
/// that two processors see at once.
const NO_LOSS: [&str; 4] = [
    "ebpf.unused_frames",
    "control.forgotten_connections",
    "link.messages_forgotten",
    "capture.backward_time_frames",
];

/// A job without end.
const JOB: &str = "--iterations 1000000 --buckets 64KiB --compute 200ms --check 0 -T 600s";

/// Settings of the agent: it looks often, so that many calls fail.
const SETTINGS: [&str; 3] =
    ["taps.interfaces=[\"port0\",\"port1\"]", "otlp.interval=\"1s\"", "window.length=\"60s\""];

/// The agent sees all that it will see.
const WARM_UP: Duration = Duration::from_secs(5);

/// In this time every counter rises that rises in any case.
const CALM: Duration = Duration::from_secs(20);

/// The report under way when a fault ends may be of before; the next one is not.
const REPORTS: f64 = 2.0;

/// It must be as before after this time.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Only these, by system call
    #[arg(value_name = "CALL")]
    calls: Vec<String>,
}

/// What a fault did.
struct Outcome {
    fault: Fault,
    tries: u64,
    /// Rises of the counters of losses.
    lost: BTreeMap<String, f64>,
    /// `None`: not within [`PATIENCE`].
    recovered: Option<Duration>,
}

/// `cargo xtask faults`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let is_good = check(&options.profile, &options.calls)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the table; whether the agent was as before after all of it.
///
/// # Errors
///
/// It needs root, strace, cc and bindfs; the agent ended.
pub(crate) fn check(profile: &str, calls: &[String]) -> Result<bool> {
    ensure!(nix::unistd::geteuid().is_root(), "faults need root, for network namespaces");
    let program = build_railscope(profile)?;
    let program = program.to_str().context("the path of railscope is not UTF-8")?.to_owned();
    let chosen: Vec<Fault> =
        fault::ALL.into_iter().filter(|fault| fault.is_one_of(calls)).collect();
    ensure!(!chosen.is_empty(), "no fault has one of these names");
    let folder = root().join("target/faults");
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let agent = program.clone();
    let outcomes =
        Fabric::run(&program, HOSTS, move |fabric| all(fabric, &agent, &chosen, &folder))?;
    println!("\n| fault | tries | lost, by counter | as before after |\n|---|--:|---|--:|");
    for outcome in &outcomes {
        println!("{}", outcome.line());
    }
    // A call that the agent had no reason for within the time cannot fail; but if none did, strace does nothing.
    let mut calls = outcomes.iter().filter(|one| matches!(one.fault, Fault::Call(..))).peekable();
    let has_failed = calls.peek().is_none() || calls.any(|one| one.tries > 0);
    Ok(has_failed && outcomes.iter().all(|outcome| outcome.recovered.is_some()))
}

fn all(fabric: &Fabric, program: &str, chosen: &[Fault], folder: &Path) -> Result<Vec<Outcome>> {
    let stage = Stage::set(folder)?;
    let _job = Job(fabric.drive(JOB));
    let mut with_clock = command(program);
    with_clock.envs(stage.environment());
    let agent = Agent::start_as(with_clock, &SETTINGS);
    // Counters that rise in any case.
    sleep(WARM_UP);
    let begin = Page::of(&agent)?;
    sleep(CALM);
    let mut before = Page::of(&agent)?;
    let usual = before.risen_since(&begin);
    let mut outcomes = Vec::new();
    for fault in chosen {
        let tries = fault.inject(&agent, &stage, folder)?;
        let age = Stopwatch::start();
        let (page, recovered) = recover(&agent, &before, &age);
        let page = page.with_context(|| format!("no metrics after {}", fault.name()))?;
        let mut lost = page.risen_since(&before);
        lost.retain(|name, _| !usual.contains_key(name) && !NO_LOSS.contains(&name.as_str()));
        before = page;
        let outcome = Outcome { fault: *fault, tries, lost, recovered };
        eprintln!("{}", outcome.line());
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Waits until the agent sees all that it saw, and more frames, two reports or more after the fault; the page
/// that shows it, and after how long.
fn recover(agent: &Agent, before: &Page, age: &Stopwatch) -> (Option<Page>, Option<Duration>) {
    let mut first: Option<Page> = None;
    while age.elapsed() < PATIENCE {
        if let Ok(page) = Page::of(agent) {
            let is_new = |first: &Page| page.reports >= first.reports + REPORTS;
            let is_later = first.as_ref().is_some_and(is_new);
            if is_later && page.sees_what(before) && page.frames > before.frames {
                return (Some(page), Some(age.elapsed()));
            }
            first.get_or_insert(page);
        }
        sleep(Duration::from_millis(100));
    }
    (first, None)
}

impl Outcome {
    fn line(&self) -> String {
        let lost: Vec<String> =
            self.lost.iter().map(|(name, count)| format!("`{name}` {count}")).collect();
        let lost = if lost.is_empty() { "-".to_owned() } else { lost.join(", ") };
        let recovered = self
            .recovered
            .map_or("**never**".to_owned(), |after| format!("{:.1} s", after.as_secs_f64()));
        format!("| {} | {} | {lost} | {recovered} |", self.fault.name(), self.tries)
    }
}

/// The ranks of a job, killed in the end.
struct Job(Vec<Child>);

impl Drop for Job {
    fn drop(&mut self) {
        for rank in &mut self.0 {
            _ = rank.kill();
            _ = rank.wait();
        }
    }
}
