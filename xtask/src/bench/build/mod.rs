//! Build times: a newcomer's first build, and the build after each changed line.

mod builds;
mod changed_line;
mod cost;
mod interrupt;
mod table;
mod workplace;

use std::fs;

use anyhow::Result;

use builds::{Builds, FIRST_COMMAND, TEST_NAME};
use changed_line::ChangedLine;
use interrupt::Interrupt;
use workplace::Workplace;

/// A test of the text output that does not read the line that is changed.
const TEST: &[&str] = &["--package", "railscope", "--test", "suite", "--", "--exact", TEST_NAME];

/// Above this load average, other programs use the processor.
const IDLE: f64 = 0.5;

/// Measures the checkout, and `against` before it; each changed line is built `runs` times.
pub(super) fn run(against: Option<&str>, runs: usize) -> Result<()> {
    let interrupt = Interrupt::install()?;
    println!("{}", load());
    let mut measured = Vec::new();
    if let Some(revision) = against {
        measured.push(measure(Workplace::at(revision)?, runs, &interrupt)?);
    }
    measured.push(measure(Workplace::of_checkout()?, runs, &interrupt)?);
    table::print(&measured);
    Ok(())
}

fn measure(workplace: Workplace, runs: usize, interrupt: &Interrupt) -> Result<Builds> {
    let revision = workplace.revision().to_owned();
    eprintln!("{revision}: fetching dependencies");
    workplace.fetch()?;
    let build = |command: &str, arguments: &[&str]| {
        let built = cost::measure(&workplace, command, arguments);
        interrupt.check()?;
        built
    };
    eprintln!("{revision}: the first command");
    let first = build("run", &[&["--release"], FIRST_COMMAND].concat())?;
    let mut line = ChangedLine::find(workplace.tree())?;
    let mut after_a_change = |command: &str, arguments: &[&str]| {
        eprintln!("{revision}: cargo {command}, all of it and after a changed line");
        build(command, arguments)?;
        let again = |_| {
            line.change()?;
            build(command, arguments)
        };
        (0..runs).map(again).collect::<Result<Vec<_>>>()
    };
    let to_program = after_a_change("run", FIRST_COMMAND)?;
    let to_test = after_a_change("test", TEST)?;
    Ok(Builds { revision, first, to_program, to_test })
}

/// How busy the machine is before anything is built.
fn load() -> String {
    let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match averages.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(load)) if load <= IDLE => format!("load average {load}: idle"),
        Some(Ok(load)) => {
            format!("**load average {load}: not idle**, so only CPU seconds can be compared")
        }
        _ => "load average unknown".to_owned(),
    }
}
