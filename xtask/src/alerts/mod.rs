//! `cargo xtask alerts`: the shipped rules and alerts in a real Prometheus with a real Alertmanager, on
//! faults that each alert is for, and on clean jobs.

mod case;
mod run;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use self::case::{CLEAN, Case, FAULTS};
use crate::repository::build_railscope;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs of each fault.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Clean runs in all.
    #[arg(long, default_value_t = 20)]
    clean: usize,
    /// The profile of cargo that railscope is built with.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// `cargo xtask alerts`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let railscope = build_railscope(&options.profile)?;
    println!("ranges and waiting times of rules: {} of the shipped ones\n", run::PACE);
    println!("| fault | alert | fired | seconds to fire | other alerts |");
    println!("|---|---|--:|---|---|");
    let mut is_right = true;
    for case in FAULTS {
        let mut fired: Vec<BTreeMap<String, Duration>> = Vec::new();
        for _ in 0..options.runs {
            fired.push(run::run(case, &railscope)?);
        }
        is_right &= report(case, &fired);
    }
    println!("\n| clean runs | alerts |\n|---|---|");
    for (number, case) in (1..=options.clean).zip(CLEAN.iter().cycle()) {
        let fired = run::run(case, &railscope)?;
        is_right &= fired.is_empty();
        println!("| {number}: {} | {} |", case.name, names(fired.keys()));
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A row for each alert; whether all fired in all runs, and no other.
fn report(case: &Case, runs: &[BTreeMap<String, Duration>]) -> bool {
    let others = |known: &[&str]| {
        let all = runs.iter().flat_map(BTreeMap::keys);
        let mut others: Vec<&String> = all.filter(|one| !known.contains(&one.as_str())).collect();
        others.sort_unstable();
        others.dedup();
        others
    };
    let mut is_right = others(&[case.alerts, case.may].concat()).is_empty();
    for alert in case.alerts {
        let times: Vec<String> = runs
            .iter()
            .filter_map(|fired| Some(format!("{:.0}", fired.get(*alert)?.as_secs_f64())))
            .collect();
        is_right &= times.len() == runs.len();
        println!(
            "| {} | {alert} | {} of {} | {} | {} |",
            case.name,
            times.len(),
            runs.len(),
            times.join(", "),
            names(others(case.alerts))
        );
    }
    is_right
}

fn names<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    all.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
