//! Makes incidents one at a time, lets every tool answer, and deletes the captures.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::answer::{self, Answer, Answers};
use super::label::Label;
use super::made::{self, INPUTS};
use super::plan::Planned;
use super::thresholds::Counted;
use crate::clock::Stopwatch;
use crate::incident::{make, rival, workers};
use crate::repository::command;

/// The tools, in the order of their answers.
pub(super) const TOOLS: [&str; 3] = ["railscope", "thresholds", "timeline"];

/// What is left of an incident.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) label: Label,
    /// Of railscope, then of its rivals if they were asked.
    pub(super) answers: Vec<Answer>,
}

impl Outcome {
    pub(super) const fn has_rivals(&self) -> bool {
        self.answers.len() == TOOLS.len()
    }
}

/// Tells how far a long run is.
pub(super) struct Progress {
    began: Stopwatch,
    of: usize,
    done: Mutex<usize>,
}

impl Progress {
    pub(super) fn new(of: usize) -> Self {
        Self { began: Stopwatch::start(), of, done: Mutex::new(0) }
    }

    /// One more is done: rewrites a line on a terminal, prints one of 20 elsewhere.
    pub(super) fn tick(&self) {
        let Ok(mut done) = self.done.lock() else { return };
        *done += 1;
        let seconds = self.began.elapsed().as_secs_f64();
        let left = seconds / *done as f64 * (self.of - *done) as f64;
        let line =
            format!("{} of {} incidents, {seconds:.0} s, about {left:.0} s left", *done, self.of);
        let mut out = std::io::stderr();
        let is_last = *done == self.of;
        if out.is_terminal() {
            let end = if is_last { "\n" } else { "" };
            let _ = write!(out, "\r{line:70}{end}").and_then(|()| out.flush());
        } else if is_last || done.is_multiple_of(self.of.div_ceil(20)) {
            let _ = writeln!(out, "{line}");
        }
    }
}

/// Plays all incidents, `jobs` at a time, the first `rivals` of them to rivals, too. What an earlier run left in
/// `folder` is kept if `is_resumed`.
pub(super) fn play(
    railscope: &Path,
    planned: &[Planned],
    folder: &Path,
    jobs: usize,
    rivals: usize,
    is_resumed: bool,
) -> Result<Vec<Outcome>> {
    if folder.exists() && !is_resumed {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let progress = Progress::new(planned.len());
    workers(jobs, planned, |at, one| {
        let known = folder.join(format!("{}.json", one.name));
        let with_rivals = at < rivals;
        if let Ok(bytes) = fs::read(&known) {
            let outcome: Outcome = serde_json::from_slice(&bytes)
                .with_context(|| format!("{}: left by another version", known.display()))?;
            if outcome.has_rivals() || !with_rivals {
                progress.tick();
                return Ok(outcome);
            }
        }
        let own = folder.join(&one.name);
        let result = of_one(railscope, one, with_rivals, &own).with_context(|| {
            format!("incident {} ({}, seed {})", one.name, one.case.name(), one.seed)
        })?;
        fs::remove_dir_all(&own).with_context(|| format!("remove {}", own.display()))?;
        let text = serde_json::to_string(&result).context("write an answer")?;
        // Whole or not at all: a run may be stopped and resumed.
        let new = known.with_extension("new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &known)).context("write an answer")?;
        progress.tick();
        Ok(result)
    })
}

fn of_one(
    railscope: &Path,
    planned: &Planned,
    with_rivals: bool,
    folder: &Path,
) -> Result<Outcome> {
    let label = made::make(railscope, planned, folder)?;
    let inputs = folder.join(INPUTS);
    let report = analyze(railscope, &inputs)?;
    let of_railscope = answer::of_report(&planned.name, &report)?.normalised()?;
    let mut answers = vec![of_railscope];
    if with_rivals {
        answers.extend(of_rivals(&planned.name, &inputs)?);
    }
    Ok(Outcome { label, answers })
}

fn of_rivals(incident: &str, inputs: &Path) -> Result<[Answer; 2]> {
    let captures = make::files(inputs, &["pcapng"])?;
    let counters = Some(inputs.join("counters.jsonl")).filter(|path| path.exists());
    let mut counted = Counted::read(&captures, counters.as_deref())?;
    let of_thresholds = counted.answer(incident);
    Ok([of_thresholds, timeline(incident, std::mem::take(&mut counted.frames))])
}

/// The report on everything that a tool may read.
fn analyze(railscope: &Path, inputs: &Path) -> Result<Vec<u8>> {
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]).args(make::files(inputs, &["pcapng"])?);
    let counters = inputs.join("counters.jsonl");
    if counters.exists() {
        analyze.arg("--counters").arg(counters);
    }
    for answer in made::all_files(inputs)? {
        let name = answer.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("ras_") {
            analyze.arg("--ras").arg(answer);
        }
    }
    let dumps = inputs.join("flight_recorder");
    if dumps.exists() {
        analyze.arg("--flight-recorder").arg(dumps.join("trace_*"));
    }
    analyze.stdin(Stdio::null());
    make::output_of(analyze)
}

fn timeline(incident: &str, frames: Vec<rival::Frame>) -> Answer {
    let first = rival::timeline_of(frames);
    let Some(first) = first else {
        return Answer { incident: incident.to_owned(), ..Answer::default() };
    };
    // A low rate is all that it sees of the network.
    let is_rank = first.id == "late_rank";
    Answer {
        incident: incident.to_owned(),
        verdict: Some(if is_rank { first.id } else { "slow_path".to_owned() }),
        rank: first.subject.rank.filter(|_| is_rank),
        host: first.subject.port,
        direction: first.subject.direction,
        ..Answer::default()
    }
}

/// The answers of every tool, by incident.
pub(super) fn answers(results: &[&Outcome]) -> Vec<(&'static str, Answers)> {
    let of = |at: usize| {
        let answers = results.iter().filter_map(|result| result.answers.get(at)).cloned();
        let by_incident = answers.map(|answer| (answer.incident.clone(), answer)).collect();
        Answers { by_incident, refused: Vec::new() }
    };
    TOOLS.iter().enumerate().map(|(at, name)| (*name, of(at))).collect()
}

/// Writes labels and answers where `cargo xtask rail score` reads them.
pub(super) fn write(results: &[Outcome], folder: &Path) -> Result<()> {
    let put = |name: &str, lines: Vec<String>| {
        let path = folder.join(name);
        let text = lines.join("\n") + "\n";
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    let labels = results.iter().map(|outcome| serde_json::to_string(&outcome.label));
    put("labels.jsonl", labels.collect::<serde_json::Result<_>>()?)?;
    for (at, tool) in TOOLS.iter().enumerate() {
        let answers = results.iter().filter_map(|outcome| outcome.answers.get(at));
        let lines = answers.map(serde_json::to_string).collect::<serde_json::Result<_>>()?;
        put(&format!("{tool}.jsonl"), lines)?;
    }
    Ok(())
}
