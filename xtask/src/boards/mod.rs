//! `cargo xtask boards`: jobs of the driver on hosts in network namespaces, one agent a host that sees
//! only its own, and a real Prometheus over all of them.
//!
//! Recording rules must name the rank that the analysis of all captures together names. Every query of
//! boards, rules and METRICS.md is asked, and panels must show what the scenario is about.

mod answer;
mod counters;
mod panels;
mod question;
mod run;
mod scenario;
mod verdict;

use std::process::ExitCode;

use anyhow::{Result, ensure};

use self::answer::Panels;
pub(crate) use self::counters::Nics;
pub(crate) use self::question::chosen_host;
pub(crate) use self::run::{COUNTER_SETTINGS, agent, folder};
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
    println!(
        "| scenario | hosts | injected | rules name | costs | all captures together | queries | refused \
         | panels with an answer | panels for it | of these wrong |"
    );
    println!("|---|--:|---|---|--:|---|--:|--:|--:|--:|--:|");
    let mut is_right = true;
    let (mut asked, mut refused) = (0, 0);
    let (mut panels, mut answered) = (Panels::new(), Panels::new());
    for scenario in scenarios {
        let outcome = run::run(scenario, &railscope)?;
        println!("{}", outcome.row(scenario));
        for wrong in outcome.answers.refused.iter().chain(&outcome.silent(scenario)) {
            eprintln!("{}: {wrong}", scenario.name);
        }
        is_right &= outcome.is_right(scenario);
        asked += outcome.answers.asked;
        refused += outcome.answers.refused.len();
        panels.extend(outcome.answers.panels);
        answered.extend(outcome.answers.answered);
    }
    println!("\n{asked} queries asked, {refused} refused");
    println!("{} of {} panels had an answer in some scenario; not:", answered.len(), panels.len());
    for (board, title) in panels.difference(&answered) {
        println!("- {board}: {title}");
    }
    Ok(is_right)
}
