//! Chores of the repository: `cargo xtask --help`.

mod ci;
mod repository;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Chores of the railscope repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Check the rules of the house that are plain text: layers, names, file heads, links.
    Tidy,
    /// Run everything that a change must pass; the last lines are the test runner's summary.
    Ci,
}

fn main() -> Result<ExitCode> {
    match Chore::parse() {
        Chore::Tidy => tidy::run(),
        Chore::Ci => ci::run(),
    }
}
