//! `cargo xtask gallery`: runs the scenarios of `railscope simulate`, seed by seed, and checks that
//! railscope finds what each is about in captures and counters, and nothing else.

mod judge;
mod report;
mod tally;
mod truth;

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::folder::files;
use crate::repository::{build_railscope, command, root};
use report::Report;
use tally::Tally;
use truth::Truth;

/// The folder of scenarios, one per file.
const GALLERY: &str = "collector/drive/src/simulate/gallery";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Scenarios of the gallery [default: all]
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Seeds of each, from 1.
    #[arg(long, default_value_t = 20, value_name = "N")]
    seeds: u64,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Leave captures, truth and reports in target/gallery.
    #[arg(long)]
    keep: bool,
}

/// `cargo xtask gallery`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let is_right = check(options)?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether railscope is right about every scenario with one seed.
pub(crate) fn check_once(profile: &str) -> Result<bool> {
    let profile = profile.to_owned();
    check(&Options { scenarios: Vec::new(), seeds: 1, profile, keep: false })
}

fn check(options: &Options) -> Result<bool> {
    let railscope = build_railscope(&options.profile)?;
    let scenarios = named(&options.scenarios)?;
    let mut is_right = true;
    let width = scenarios.iter().map(String::len).max().unwrap_or(0);
    println!("{:width$}  {}", "SCENARIO", Tally::HEAD);
    for scenario in &scenarios {
        let mut tally = Tally::default();
        for seed in 1..=options.seeds {
            let folder = root().join("target/gallery").join(scenario).join(seed.to_string());
            let verdict = judge_one(&railscope, scenario, seed, &folder)
                .with_context(|| format!("{scenario}, seed {seed}"))?;
            for fault in &verdict.faults {
                eprintln!("{scenario}, seed {seed}: {fault}");
            }
            tally.add(&verdict);
            if !options.keep {
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("remove {}", folder.display()))?;
            }
        }
        println!("{scenario:width$}  {tally}");
        is_right &= tally.is_right();
    }
    Ok(is_right)
}

/// The scenarios with these names, or all.
fn named(names: &[String]) -> Result<Vec<String>> {
    let folder = root().join(GALLERY);
    let entries = fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.context("list scenarios")?.path();
        let is_scenario = path.extension().is_some_and(|extension| extension == "toml");
        all.extend(
            path.file_stem()
                .filter(|_| is_scenario)
                .and_then(|name| name.to_str().map(str::to_owned)),
        );
    }
    all.sort();
    for name in names {
        ensure!(all.contains(name), "no scenario `{name}`; there are {}", all.join(", "));
    }
    all.retain(|name| names.is_empty() || names.contains(name));
    Ok(all)
}

fn judge_one(railscope: &Path, scenario: &str, seed: u64, folder: &Path) -> Result<judge::Verdict> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let mut simulate = command(railscope);
    simulate.args(["simulate", scenario, "--seed", &seed.to_string(), "--out"]).arg(folder);
    output_of(simulate)?;
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]);
    let counters = folder.join("counters.jsonl");
    if counters.exists() {
        analyze.arg("--counters").arg(counters);
    }
    analyze.args(files(folder, "pcapng")?);
    let document = output_of(analyze)?;
    let report = folder.join("report.json");
    fs::write(&report, &document).with_context(|| format!("write {}", report.display()))?;
    let report: Report = serde_json::from_slice(&document).context("read the report")?;
    let truths = files(folder, "jsonl")?
        .into_iter()
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("truth"))
        })
        .map(|path| Truth::read(&path));
    Ok(judge::judge(&report, &truths.collect::<Result<Vec<_>>>()?))
}

/// Standard output of a command that must succeed.
fn output_of(mut command: std::process::Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.trim());
    Ok(output.stdout)
}
