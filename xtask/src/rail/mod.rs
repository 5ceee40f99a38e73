//! `cargo xtask rail`: RailBench, incidents with labels that anybody can make again from a seed, a judge for
//! the answers of any tool, and how railscope and simple rivals do.

mod answer;
mod contest;
mod counterfactual;
mod digest;
mod label;
mod made;
mod mark;
mod plan;
mod table;
mod thresholds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use self::contest::{Outcome, Progress};
use self::label::Label;
use crate::clock::timed;
use crate::incident::workers;
use crate::repository::{build_railscope, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(clap::Subcommand)]
enum Chore {
    /// Make incidents: captures and what else a tool may read in inputs/, label.json beside it
    Make {
        /// The folder to make; it must not be there
        folder: PathBuf,
        /// Make only the incident of this number; may be given again
        #[arg(long, value_name = "NUMBER")]
        only: Vec<usize>,
        #[command(flatten)]
        set: Set,
    },
    /// Judge the answers of a tool
    Score {
        /// A folder that `make` filled, or a file with a label a line
        labels: PathBuf,
        /// A folder with NAME.json for each incident, or a file with an answer a line
        answers: PathBuf,
    },
    /// Make incidents one at a time, let railscope and its rivals answer, and compare
    Run {
        #[command(flatten)]
        set: Set,
        /// Ask rivals about the first N incidents only [default: all]: tshark needs most of the time
        #[arg(long, value_name = "N")]
        rivals: Option<usize>,
        /// Go on where a run of the same seed stopped
        #[arg(long)]
        resume: bool,
        /// Write the tables into docs/railbench.md
        #[arg(long)]
        write: bool,
    },
    /// Compare a small set of incidents with the digests in the repository
    Check {
        #[command(flatten)]
        program: Program,
        /// Write the digests instead
        #[arg(long)]
        write: bool,
    },
}

/// Which incidents.
#[derive(clap::Args)]
struct Set {
    /// So many
    #[arg(long, default_value_t = 500, value_name = "N")]
    count: usize,
    /// Of the set of this seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u32,
    /// So many at a time [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    program: Program,
}

#[derive(clap::Args)]
struct Program {
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    program: Option<PathBuf>,
}

/// The page with the tables, and the lines around them.
const PAGE: &str = "docs/railbench.md";
const BEGIN: &str = "<!-- cargo xtask rail run --write -->\n";
const END: &str = "<!-- end -->\n";

/// `cargo xtask rail`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    match &options.chore {
        Chore::Make { folder, only, set } => make(folder, only, set)?,
        Chore::Score { labels, answers } => return score(labels, answers),
        Chore::Run { set, rivals, resume, write } => {
            play(set, rivals.unwrap_or(usize::MAX), *resume, *write)?;
        }
        Chore::Check { program, write } => return digests(&program.path()?, *write),
    }
    Ok(ExitCode::SUCCESS)
}

impl Program {
    fn path(&self) -> Result<PathBuf> {
        match &self.program {
            Some(program) => program.canonicalize().context("find the program"),
            None => build_railscope(&self.profile),
        }
    }
}

impl Set {
    fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(cores).clamp(1, 256)
    }
}

fn make(folder: &Path, only: &[usize], set: &Set) -> Result<()> {
    let mut planned = plan::plan(set.count, set.seed)?;
    let is_there = |number: &usize| (1..=set.count).contains(number);
    ensure!(only.iter().all(is_there), "incidents are 1 to {}: --count makes more", set.count);
    if !only.is_empty() {
        let mut numbers = 1..;
        planned.retain(|_| numbers.next().is_some_and(|number| only.contains(&number)));
    }
    // railscope runs in the repository's root.
    let folder = std::path::absolute(folder).context("find the folder")?;
    ensure!(!folder.exists(), "{} is already there", folder.display());
    let railscope = set.program.path()?;
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let progress = Progress::new(planned.len());
    workers(set.jobs(), &planned, |_, one| {
        made::make(&railscope, one, &folder.join(&one.name))
            .with_context(|| format!("incident {} ({})", one.name, one.case.name()))?;
        progress.tick();
        Ok(())
    })?;
    Ok(())
}

fn score(labels: &Path, answers: &Path) -> Result<ExitCode> {
    let labels = label::read(labels)?;
    let answers = answer::read(answers, &labels)?;
    for refused in answers.refused.iter().take(20) {
        eprintln!("refused: {refused}");
    }
    print!("{}", table::of_tool(&labels, &answers));
    print!("{}", table::by_confidence(&labels, &answers));
    println!("\n{}", counterfactual::table(&labels, &answers));
    println!(
        "{} incidents, {} answers, {} refused",
        labels.len(),
        answers.by_incident.len(),
        answers.refused.len()
    );
    Ok(if answers.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn play(set: &Set, rivals: usize, is_resumed: bool, is_written: bool) -> Result<()> {
    let planned = plan::plan(set.count, set.seed)?;
    let railscope = set.program.path()?;
    let folder = root().join("target/rail").join(set.seed.to_string());
    let play = || contest::play(&railscope, &planned, &folder, set.jobs(), rivals, is_resumed);
    let (outcomes, seconds) = timed(play);
    let outcomes = outcomes?;
    contest::write(&outcomes, &folder)?;
    let text = page(&outcomes, set);
    print!("{text}");
    eprintln!("{seconds:.0} s; labels and answers are in {}", folder.display());
    if is_written { write(&text) } else { Ok(()) }
}

fn page(outcomes: &[Outcome], set: &Set) -> String {
    let of = |outcomes: &[&Outcome]| -> Vec<Label> {
        outcomes.iter().map(|outcome| outcome.label.clone()).collect()
    };
    let count = |labels: &[Label]| {
        let healthy = labels.iter().filter(|label| label.class.is_none()).count();
        format!("{} incidents and {healthy} healthy jobs", labels.len() - healthy)
    };
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let shared: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.has_rivals()).collect();
    let (labels, shared_labels) = (of(&all), of(&shared));
    let mut text = format!(
        "{} of seed {}; rivals answered {} of them. Shares in percent, with Wilson's interval (95 %).\n",
        count(&labels),
        set.seed,
        count(&shared_labels),
    );
    if !shared.is_empty() {
        let beside = table::side_by_side(&shared_labels, &contest::answers(&shared));
        let _ = write!(text, "\n### Side by side\n\n{beside}");
    }
    for (name, answers) in &contest::answers(&all) {
        let is_rival = *name != contest::TOOLS[0];
        let own = if is_rival { &shared_labels } else { &labels };
        if own.is_empty() {
            continue;
        }
        let _ = write!(text, "\n### {name}\n\n{}", table::of_tool(own, answers));
        text += &table::by_confidence(own, answers);
        if !is_rival {
            let costs = counterfactual::table(own, answers);
            let _ = write!(text, "\n### Without the fault: {name}\n\n{costs}");
        }
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    labels.iter().for_each(|label| *kinds.entry(&label.kind).or_default() += 1);
    let kinds: Vec<String> =
        kinds.iter().map(|(kind, count)| format!("`{kind}` {count}")).collect();
    let _ = write!(text, "\n### Kinds\n\n{}.\n", kinds.join(", "));
    text
}

fn write(tables: &str) -> Result<()> {
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).context(PAGE)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.with_context(|| format!("{PAGE} has no place for the tables"))?;
    fs::write(&path, format!("{before}{BEGIN}{tables}{END}{after}")).context(PAGE)
}

/// Whether incidents are the same bytes as ever, and the same when they are made again.
pub(crate) fn check(profile: &str) -> Result<bool> {
    Ok(digests(&build_railscope(profile)?, false)? == ExitCode::SUCCESS)
}

fn digests(railscope: &Path, is_written: bool) -> Result<ExitCode> {
    let planned = plan::plan(digest::INCIDENTS, 1)?;
    let folder = root().join("target/rail/check");
    let [first, second] = [0, 1].map(|_| digest::of(railscope, &planned, &folder));
    let (first, second) = (first?, second?);
    ensure!(first == second, "two runs differ:\n{first}{second}");
    let path = root().join(digest::KNOWN);
    if is_written {
        fs::write(&path, first).context(digest::KNOWN)?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = fs::read_to_string(&path).context(digest::KNOWN)?;
    if known == first {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "incidents are not those of {}; if the simulator changed on purpose: cargo xtask rail check --write\n\
         {first}",
        digest::KNOWN
    );
    Ok(ExitCode::FAILURE)
}
