//! Two jobs side by side, for people: the answer, what it is made of, then what changed.

mod answer;
mod figure;

use std::io::{self, Write};

use self::figure::{amount, change, interval, name};
use super::sentence;
use super::style::Meaning;
use super::table::{Column, render};
use crate::printable::printable;
use railscope_core::compare::difference::{Difference, Outcome};
use railscope_core::compare::setting::SettingDifference;
use railscope_core::compare::total::TotalReport;
use railscope_core::compare::{Comparison, SideReport};
use railscope_core::report::words::number::{count, counted};

/// Most rows of a table.
const ROWS: usize = 24;

/// A figure of a whole report is shown if it changed by this factor.
const NOTABLE: f64 = 1.25;

/// Most paths in a line.
const PATHS: usize = 4;

/// Writes a comparison.
///
/// # Errors
///
/// When `out` fails.
pub fn write(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    for (meaning, text) in answer::lines(comparison) {
        writeln!(out, "{}", sentence::painted(meaning, &printable(&text), width))?;
    }
    verdicts("only after:", &comparison.new_verdicts, Meaning::Bad, width, &mut out)?;
    verdicts("only before:", &comparison.gone_verdicts, Meaning::Good, width, &mut out)?;
    writeln!(out)?;
    for (label, side) in [("before", &comparison.before), ("after ", &comparison.after)] {
        writeln!(out, "{}", sentence::note(&side_line(label, side, comparison), width))?;
    }
    if comparison.answer.is_some() {
        writeln!(out, "\n{}", rows(comparison, width))?;
        writeln!(out, "{}", sentence::aside(&trust(comparison), width))?;
    }
    settings(&comparison.settings, width, &mut out)?;
    totals(comparison, width, &mut out)?;
    paths(comparison, width, &mut out)
}

fn side_line(label: &str, side: &SideReport, comparison: &Comparison) -> String {
    let noun = answer::noun(comparison);
    let left = side.left_out;
    let parts = [
        (left.warm_up, "at the start"),
        (left.incomplete, "incomplete"),
        (left.last, "at the end"),
        (left.outside, "outside the window"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(number, why)| format!("{} {why}", count(number))).collect();
    let out = if parts.is_empty() {
        String::new()
    } else {
        format!("; not compared: {}", parts.join(", "))
    };
    let others = match side.other_jobs {
        0 => String::new(),
        jobs => format!("; {} with fewer steps not compared", counted(jobs, "other job")),
    };
    format!("{label}  {}: {}{out}{others}", printable(&side.name), counted(side.values, noun))
}

fn verdicts(
    heading: &str,
    titles: &[String],
    meaning: Meaning,
    width: usize,
    mut out: impl Write,
) -> io::Result<()> {
    for title in titles {
        writeln!(
            out,
            "{}",
            sentence::bullet(meaning, &printable(&format!("{heading} {title}")), width)
        )?;
    }
    Ok(())
}

/// Differences first, then the rest in their order.
fn rows(comparison: &Comparison, width: usize) -> String {
    let (shown, rest): (Vec<&Difference>, Vec<&Difference>) =
        comparison.rows.iter().partition(|row| row.is_shown());
    let known = |row: &&Difference| row.before.is_some() || row.after.is_some();
    let all: Vec<&Difference> = comparison.answer.iter().chain(shown).chain(rest).collect();
    let all: Vec<&Difference> = all.into_iter().filter(known).take(ROWS).collect();
    let cells = |of: &dyn Fn(&Difference) -> String| all.iter().map(|row| of(row)).collect();
    let mean = |side: Option<railscope_core::compare::difference::Figure>, row: &Difference| {
        side.map_or_else(|| "unknown".to_owned(), |figure| amount(row.unit, figure.mean))
    };
    render(
        vec![
            Column::words(answer::heading(comparison), cells(&|row| name(row))),
            Column::numbers("BEFORE", cells(&|row| mean(row.before, row))),
            Column::numbers("AFTER", cells(&|row| mean(row.after, row))),
            Column::numbers("CHANGE", cells(&change)),
            Column::numbers("95 % INTERVAL", cells(&interval)),
            Column::words("DIFFERENCE", cells(&|row| says(row).to_owned())),
            Column::numbers("SHOWS FROM", cells(&|row| figure::smallest(row))).spare(1),
        ],
        width,
    )
}

fn says(row: &Difference) -> &'static str {
    match row.outcome {
        Outcome::NoDifferenceShown if figure::excludes_zero(row) => "perhaps",
        Outcome::Higher => "more",
        Outcome::Lower => "less",
        Outcome::NoDifferenceShown => "none shown",
        Outcome::TooLittle => "too little data",
        Outcome::Unknown => "not known",
    }
}

fn trust(comparison: &Comparison) -> String {
    format!(
        "Chance alone makes the first row differ in at most {} of comparisons of equal jobs, and any of \
         the others in at most {}. Perhaps: its own interval excludes 0, but among so many rows that is no \
         proof, or the change is too small to matter. SHOWS FROM: a change that this much data shows four \
         times in five.",
        figure::whole_percent(comparison.false_answers),
        figure::whole_percent(comparison.false_rows)
    )
}

fn settings(all: &[SettingDifference], width: usize, mut out: impl Write) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let values = |values: &[String]| match values {
        [] => "not set".to_owned(),
        values => printable(&values.join(", ")).into_owned(),
    };
    let table = render(
        vec![
            Column::words(
                "SETTING",
                all.iter().map(|one| printable(&one.name).into_owned()).collect(),
            ),
            Column::words("BEFORE", all.iter().map(|one| values(&one.before)).collect()),
            Column::words("AFTER", all.iter().map(|one| values(&one.after)).collect()),
        ],
        width,
    );
    writeln!(out, "\n{table}")
}

fn totals(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    let notable: Vec<&TotalReport> =
        comparison.totals.iter().filter(|one| is_notable(one)).collect();
    if notable.is_empty() {
        return Ok(());
    }
    let shown = notable.iter().take(ROWS);
    let value = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| "unknown".to_owned(), |value| amount(unit, value))
    };
    let table = render(
        vec![
            Column::words("WHOLE REPORT", shown.clone().map(|one| figure::total(one)).collect()),
            Column::numbers(
                "BEFORE",
                shown.clone().map(|one| value(one.before, &one.unit)).collect(),
            ),
            Column::numbers("AFTER", shown.map(|one| value(one.after, &one.unit)).collect()),
        ],
        width,
    );
    writeln!(out, "\n{table}")?;
    let more = notable.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("; {more} more in --format json") } else { String::new() };
    let note = format!("One figure a report, so without an interval: leads, no proof{more}.");
    writeln!(out, "{}", sentence::aside(&note, width))
}

/// Whether a figure without an interval changed enough to be read.
fn is_notable(one: &TotalReport) -> bool {
    match (one.before, one.after) {
        (Some(before), Some(after)) => {
            let (less, more) = (before.min(after), before.max(after));
            more > less * NOTABLE
        }
        _ => false,
    }
}

fn paths(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    let paths = &comparison.paths;
    let list = |all: &[[String; 2]]| {
        let shown = all.iter().take(PATHS).map(|[src, dst]| format!("{src} → {dst}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match all.len().saturating_sub(PATHS) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    let mut lines = Vec::new();
    if !paths.only_before.is_empty() {
        lines.push(format!("paths only before: {}", list(&paths.only_before)));
    }
    if !paths.only_after.is_empty() {
        lines.push(format!("paths only after: {}", list(&paths.only_after)));
    }
    if paths.other_udp_ports > 0 {
        lines.push(format!(
            "Of {} that both have, {} {} other UDP source ports: a fabric that hashes flows may lead \
             them another way.",
            counted(paths.both, "path"),
            count(paths.other_udp_ports),
            if paths.other_udp_ports == 1 { "uses" } else { "use" }
        ));
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines {
        writeln!(out, "{}", sentence::line(&printable(&line), width))?;
    }
    Ok(())
}
