//! The builds of each revision, side by side, as Markdown.

use super::builds::{Builds, FIRST_COMMAND, TEST_NAME};
use super::cost::Build;
use crate::bench::table::{Level, MEBIBYTE, median, verdict};

const FIRST: Level = Level { goal: 180.0, floor: 300.0 };
const TO_PROGRAM: Level = Level { goal: 10.0, floor: 20.0 };
const TO_TEST: Level = Level { goal: 20.0, floor: 40.0 };

/// Prints a column per revision, and compares the last one with the goals.
pub(super) fn print(measured: &[Builds]) {
    let Some(last) = measured.last() else { return };
    let runs = last.to_program.len();
    println!(
        "\n`cargo run --release {}` from nothing, once, with all dependencies fetched;",
        FIRST_COMMAND.join(" ")
    );
    println!(
        "one changed line of the text output, medians of {runs}: `cargo run`, and `cargo test` of `{TEST_NAME}`.\n"
    );
    let revisions: Vec<_> =
        measured.iter().map(|builds| format!("`{}`", builds.revision)).collect();
    println!("| | {} |", revisions.join(" | "));
    println!("|---|{}", "--:|".repeat(measured.len()));
    let row = |name: &str, cell: fn(&Builds) -> String| {
        let cells: Vec<_> = measured.iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    row("first command", |builds| format!("{:.0} s", builds.first.seconds));
    row("its CPU time", |builds| format!("{:.0} s", builds.first.cpu_seconds));
    row("units compiled", |builds| builds.first.units.to_string());
    row("size of the program", |builds| {
        format!("{:.0} MiB", builds.first.program_bytes as f64 / MEBIBYTE)
    });
    row("changed line to running program", |builds| seconds(&builds.to_program));
    row("its CPU time", |builds| cpu_seconds(&builds.to_program));
    row("changed line to its test", |builds| seconds(&builds.to_test));
    row("its CPU time", |builds| cpu_seconds(&builds.to_test));
    println!();
    judge("first command", last.first.seconds, &FIRST);
    judge("changed line to running program", median_seconds(&last.to_program), &TO_PROGRAM);
    judge("changed line to its test", median_seconds(&last.to_test), &TO_TEST);
}

fn judge(name: &str, seconds: f64, level: &Level) {
    let verdict = verdict(seconds <= level.goal, seconds <= level.floor);
    println!("* {name}: {verdict} (goal {} s, floor {} s)", level.goal, level.floor);
}

fn median_seconds(builds: &[Build]) -> f64 {
    median(builds.iter().map(|build| build.seconds))
}

fn seconds(builds: &[Build]) -> String {
    format!("{:.1} s", median_seconds(builds))
}

fn cpu_seconds(builds: &[Build]) -> String {
    format!("{:.1} s", median(builds.iter().map(|build| build.cpu_seconds)))
}
