//! `cargo xtask score`: railscope's reports on recorded NCCL jobs against the truth.

mod card;
mod cell;
mod collectives;
mod document;
mod flows;
mod identity;
mod iterations;
mod matching;
mod median;
mod pairing;
#[cfg(test)]
mod perfect;
mod program;
mod report;
mod stragglers;
mod truth;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

use crate::fixtures;
use crate::incident;
use crate::recording::{self, Recording};
use crate::repository::{self, root};
use card::Section;
use document::Part;
use program::Unnamed;

const TITLES: [&str; 2] = ["Without logs", "With NCCL's logs"];

/// The column that captures cannot fill.
const FROM_LOGS_ALONE: &str = "host name";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Recorded jobs, or folders of them [default: tests/captures]
    #[arg(value_name = "FOLDER")]
    recordings: Vec<PathBuf>,
    /// Write SCORE.md.
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Make incidents, judge their first verdicts, and write that part of SCORE.md: some minutes.
    #[arg(long, conflicts_with_all = ["write", "check", "perfect", "recordings"])]
    make: bool,
    /// Fail where a figure is worse than in SCORE.md, and print nothing else.
    #[arg(long)]
    check: bool,
    /// Fail unless everything was found and nothing wrong reported; print what is not.
    #[arg(long, requires = "recordings", conflicts_with_all = ["write", "check"])]
    perfect: bool,
    /// The profile of cargo that railscope is built with; `test` is what the suite builds anyway.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// Figures of one job without and with logs, and the seconds that railscope took.
struct Scored {
    name: String,
    sections: [Vec<Section>; 2],
    seconds: [f64; 2],
}

/// `cargo xtask score`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.make {
        return make(&options.profile);
    }
    let jobs = score_all(&options.recordings, &options.profile)?;
    if options.check {
        let is_kept = is_kept(&jobs)?;
        return Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if options.perfect {
        let imperfect = jobs.iter().filter(|job| !job.is_perfect()).count();
        return Ok(if imperfect == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let document = document::write(&parts(&jobs)) + &incidents()?;
    if options.write {
        let path = root().join(document::NAME);
        fs::write(&path, &document).with_context(|| format!("write {}", path.display()))?;
    } else {
        print!("{document}");
    }
    let seconds = [0, 1].map(|at| jobs.iter().map(|job| job.seconds[at]).sum::<f64>());
    eprintln!("railscope took {:.1} s without logs, {:.1} s with", seconds[0], seconds[1]);
    Ok(ExitCode::SUCCESS)
}

/// Makes incidents and writes that part of the document.
fn make(profile: &str) -> Result<ExitCode> {
    let section = incident::publish(profile)?;
    let path = root().join(document::NAME);
    let known = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let rest = known.split(incident::document::HEADING).next().unwrap_or_default();
    fs::write(&path, rest.to_owned() + &section)
        .with_context(|| format!("write {}", path.display()))?;
    print!("{section}");
    Ok(ExitCode::SUCCESS)
}

/// The part of the document about incidents, as it is; only `--make` changes it.
fn incidents() -> Result<String> {
    let path = root().join(document::NAME);
    let known = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let section = known.find(incident::document::HEADING).and_then(|at| known.get(at..));
    Ok(section.unwrap_or_default().to_owned())
}

/// Whether the repository's recordings score no worse than in `SCORE.md`; prints where they do.
pub(crate) fn check(profile: &str) -> Result<bool> {
    is_kept(&score_all(&[], profile)?)
}

/// Whether railscope finds everything about recorded jobs; prints what it does not.
pub(crate) fn is_perfect(recordings: &[PathBuf], profile: &str) -> Result<bool> {
    let jobs = score_all(recordings, profile)?;
    Ok(jobs.iter().filter(|job| !job.is_perfect()).count() == 0)
}

/// What the railscope at this path does not find about one recorded job.
pub(crate) fn shortfalls(recording: &Path, railscope: &Path) -> Result<Vec<String>> {
    let job = score(recording, railscope);
    Ok(job.with_context(|| format!("score {}", recording.display()))?.shortfalls())
}

impl Scored {
    /// Prints where the figures are worse.
    fn is_perfect(&self) -> bool {
        let shortfalls = self.shortfalls();
        shortfalls.iter().for_each(|shortfall| eprintln!("{shortfall}"));
        shortfalls.is_empty()
    }

    fn shortfalls(&self) -> Vec<String> {
        let mut shortfalls = Vec::new();
        for (title, sections) in TITLES.iter().zip(&self.sections) {
            let columns = sections.iter().flat_map(|section| &section.columns);
            let columns =
                columns.filter(|(head, _)| *title != TITLES[0] || *head != FROM_LOGS_ALONE);
            for (head, cell) in columns.filter(|(_, cell)| !cell.is_perfect()) {
                shortfalls.push(format!("{}, {}: {head} {cell}", self.name, title.to_lowercase()));
            }
        }
        shortfalls
    }
}

fn is_kept(jobs: &[Scored]) -> Result<bool> {
    let path = root().join(document::NAME);
    let document = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let drops = document::drops(&document, &parts(jobs));
    for drop in &drops {
        eprintln!("worse: {drop}");
    }
    if !drops.is_empty() {
        eprintln!("if this is meant: cargo xtask score --write");
    }
    Ok(drops.is_empty())
}

fn parts(jobs: &[Scored]) -> [Part; 2] {
    [0, 1].map(|at| Part {
        title: TITLES[at],
        jobs: jobs.iter().map(|job| (job.name.clone(), job.sections[at].clone())).collect(),
    })
}

/// Every recording that `paths` name, or else the repository's own.
fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if paths.is_empty() {
        return recording::find(&root().join(fixtures::FOLDER));
    }
    let found = paths.iter().map(|path| recording::find(path));
    Ok(found.collect::<Result<Vec<_>>>()?.concat())
}

/// Scores every recording, one per processor at a time; results keep their order.
fn score_all(paths: &[PathBuf], profile: &str) -> Result<Vec<Scored>> {
    let railscope = repository::build_railscope(profile)?;
    let recordings = find(paths)?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Scored)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = recordings.get(at) else { return Ok(done) };
            let job =
                score(path, &railscope).with_context(|| format!("score {}", path.display()))?;
            done.push((at, job));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut jobs = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let done = worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
            jobs.extend(done);
        }
        anyhow::Ok(())
    })?;
    ensure!(jobs.len() == recordings.len(), "not every recording was scored");
    jobs.sort_by_key(|(at, _)| *at);
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

fn score(path: &Path, railscope: &Path) -> Result<Scored> {
    let recording = Recording::read(path)?;
    let truth = truth::document::parse(recording.truth())?;
    let unnamed = Unnamed::new(&recording)?;
    let (plain, plain_seconds) = unnamed.analyze(railscope, false)?;
    let (logged, logged_seconds) = unnamed.analyze(railscope, true)?;
    Ok(Scored {
        name: recording.name,
        sections: [card::sections(&truth, &plain), card::sections(&truth, &logged)],
        seconds: [plain_seconds, logged_seconds],
    })
}
