//! `cargo xtask boards`: jobs of the driver on hosts in network namespaces, one agent a host that sees
//! only its own, and a real Prometheus over all of them.
//!
//! Recording rules must name the rank that the analysis of all captures together names.

mod run;
mod scenario;
mod verdict;

use std::process::ExitCode;

use anyhow::{Result, ensure};

use self::scenario::{ALL, Scenario};
use crate::repository::build_railscope;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Of these scenarios [default: all]
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
}

/// `cargo xtask boards`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    for name in &options.scenarios {
        ensure!(ALL.iter().any(|known| known.name == name), "no scenario `{name}`");
    }
    let names = &options.scenarios;
    let chosen = ALL.iter().filter(|one| names.is_empty() || names.iter().any(|of| of == one.name));
    let is_right = check(&chosen.collect::<Vec<_>>(), &options.profile)?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs these scenarios; returns whether rules and analysis agree with each other and with the fault.
pub(crate) fn check(scenarios: &[&Scenario], profile: &str) -> Result<bool> {
    let railscope = build_railscope(profile)?;
    println!("| scenario | hosts | injected | rules name | costs | all captures together |");
    println!("|---|--:|---|---|--:|---|");
    let mut is_right = true;
    for scenario in scenarios {
        let outcome = run::run(scenario, &railscope)?;
        println!("{}", outcome.row(scenario));
        is_right &= outcome.is_right(scenario);
    }
    Ok(is_right)
}
