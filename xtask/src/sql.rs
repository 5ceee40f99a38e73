//! `cargo xtask sql`: the questions of dashboards/sql about a made month of a fleet, on DuckDB, ClickHouse and
//! Spark.
//!
//! Simulated jobs are captured, analysed and written as tables; `tests/sql/month.py` draws a month from their
//! rows, with faults that it plants; `tests/sql/check.py` asks the questions on all engines and compares the
//! answers with each other and with what was planted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::folder;
use crate::repository::{build_railscope, command, is_installed, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Nodes of the fleet
    #[arg(long, default_value_t = 1000, value_name = "N")]
    nodes: u32,
    /// Days of the month
    #[arg(long, default_value_t = 30, value_name = "N")]
    days: u32,
    /// Captures of a job and day
    #[arg(long, default_value_t = 4, value_name = "N")]
    captures: u32,
    /// Workers of Spark: a run for each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_name = "N")]
    workers: Vec<u32>,
    /// A month of 64 nodes and 16 days, and Spark with two workers only, as in CI
    #[arg(long)]
    check: bool,
    /// Write sizes, seconds and answers into docs/tables.md
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    program: Option<PathBuf>,
}

/// Scenarios of the gallery whose rows the month is drawn from.
const SCENARIOS: [&str; 6] =
    ["clean", "straggler_compute", "straggler_enqueue", "loss", "incast_ecn", "link_flap"];

/// Nodes, days and captures a day of the month in CI.
const SMALL: [u32; 3] = [64, 16, 1];

/// Where `.ci/run` puts the engines.
const ENGINES: &str = "target/sql-engines";

/// The page with what was measured, and the lines around it.
const PAGE: &str = "docs/tables.md";
const BEGIN: &str = "<!-- cargo xtask sql --write -->\n";
const END: &str = "<!-- end -->\n";

/// `cargo xtask sql`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let railscope = match &options.program {
        Some(path) => path.clone(),
        None => build_railscope(&options.profile)?,
    };
    let month = match options.check {
        true => SMALL,
        false => [options.nodes, options.days, options.captures],
    };
    let workers = if options.check { &[2][..] } else { &options.workers };
    let measured = ask(&railscope, month, workers)?;
    if options.write {
        let page = root().join(PAGE);
        let text = fs::read_to_string(&page).with_context(|| format!("read {PAGE}"))?;
        let parts = text
            .split_once(BEGIN)
            .and_then(|(head, rest)| rest.split_once(END).map(|(_, tail)| (head, tail)));
        let (head, tail) = parts.with_context(|| format!("{PAGE} has no lines for the tables"))?;
        let text = [head, BEGIN, &measured, END, tail].concat();
        fs::write(&page, text).with_context(|| format!("write {PAGE}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The small month, with a program that is already built.
pub(crate) fn check(profile: &str) -> Result<()> {
    ask(&build_railscope(profile)?, SMALL, &[2]).map(drop)
}

/// What the machine lacks for it.
pub(crate) fn missing() -> Vec<&'static str> {
    let mut missing: Vec<_> =
        ["python3", "java"].into_iter().filter(|one| !is_installed(one)).collect();
    let packages = ["duckdb", "chdb", "pyspark"];
    let can_import = |package: &&str| {
        let mut import = python();
        import.args(["-c", &format!("import {package}")]);
        import.output().is_ok_and(|output| output.status.success())
    };
    missing.extend(packages.into_iter().filter(|package| !can_import(package)));
    missing
}

/// Makes a month and asks; returns sizes, seconds and answers as Markdown.
fn ask(railscope: &Path, month: [u32; 3], workers: &[u32]) -> Result<String> {
    let [nodes, days, captures] = month.map(|number| number.to_string());
    let base = root().join("target/sql");
    if base.exists() {
        fs::remove_dir_all(&base).with_context(|| format!("remove {}", base.display()))?;
    }
    let (samples, tables, page) = (base.join("samples"), base.join("month"), base.join("page.md"));
    for scenario in SCENARIOS {
        sample(railscope, scenario, &base.join("jobs").join(scenario), &samples)
            .with_context(|| format!("scenario {scenario}"))?;
    }
    let mut make = python();
    make.arg("tests/sql/month.py").args([&samples, &tables]);
    make.args(["--nodes", &nodes, "--days", &days, "--captures", &captures]);
    succeed(&mut make, "tests/sql/month.py")?;
    let mut check = python();
    check.arg("tests/sql/check.py").args([&tables, &samples]).arg("--markdown").arg(&page);
    check.arg("--workers").args(workers.iter().map(u32::to_string));
    succeed(&mut check, "tests/sql/check.py")?;
    fs::read_to_string(&page).with_context(|| format!("read {}", page.display()))
}

/// Simulates a job, and writes its tables.
fn sample(railscope: &Path, scenario: &str, job: &Path, tables: &Path) -> Result<()> {
    let mut simulate = Command::new(railscope);
    simulate.args(["simulate", scenario, "--out"]).arg(job);
    succeed(simulate.stdout(Stdio::null()), "railscope simulate")?;
    let mut analyze = Command::new(railscope);
    analyze.args(["analyze", "--format", "parquet", "--job", scenario, "--output"]).arg(tables);
    let counters = job.join("counters.jsonl");
    if counters.exists() {
        analyze.arg("--counters").arg(counters);
    }
    analyze.args(folder::files(job, "pcapng")?);
    succeed(&mut analyze, "railscope analyze")
}

/// Python with the engines.
fn python() -> Command {
    let mut python = command("python3");
    python.env("PYTHONPATH", root().join(ENGINES));
    python
}

fn succeed(command: &mut Command, name: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("start {name}"))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}
