//! What `railscope doctor` found on a node, for people.

use std::io::{self, Write};

use super::sentence;
use super::style::{Meaning, paint};
use crate::doctor::outcome::{Outcome, Status};
use crate::doctor::report::{Examination, question};
use crate::printable::printable;

/// Writes an examination: the worst first, what is right and what could not be checked in a line each.
///
/// # Errors
///
/// When `out` fails.
pub fn write(examination: &Examination, width: usize, mut out: impl Write) -> io::Result<()> {
    let meaning = match examination.worst {
        Status::Critical => Meaning::Bad,
        Status::Warning => Meaning::Odd,
        _ => Meaning::Good,
    };
    writeln!(out, "{}", sentence::painted(meaning, &title(examination), width))?;
    for outcome in examination.outcomes.iter().filter(|outcome| outcome.status >= Status::Warning) {
        writeln!(out)?;
        trouble(outcome, width, &mut out)?;
    }
    for (status, heading) in [
        (Status::Note, "Worth knowing"),
        (Status::Right, "Right"),
        (Status::Unknown, "Not checked"),
    ] {
        let groups = alike(examination, status);
        if !groups.is_empty() {
            writeln!(out, "\n{}", paint(Meaning::Heading, heading))?;
        }
        for (checks, outcome) in groups {
            aside(&checks, outcome, width, &mut out)?;
        }
    }
    Ok(())
}

/// Whether the node is fit, in one line.
fn title(examination: &Examination) -> String {
    let count = |status| examination.count(status);
    let named = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    };
    let (critical, warnings) = (count(Status::Critical), count(Status::Warning));
    let rest = format!("{} right, {} not checked", count(Status::Right), count(Status::Unknown));
    let host = printable(&examination.host);
    match (critical, warnings) {
        (0, 0) if count(Status::Right) == 0 => format!("{host}: nothing could be checked."),
        (0, 0) => format!("{host}: nothing stands against a job ({rest})."),
        (0, warnings) => {
            format!("{host}: fit for a job, with {} ({rest}).", named(warnings, "warning"))
        }
        (critical, 0) => {
            format!("{host}: not fit for a job: {} ({rest}).", named(critical, "fault"))
        }
        (critical, warnings) => {
            format!(
                "{host}: not fit for a job: {}, {} ({rest}).",
                named(critical, "fault"),
                named(warnings, "warning")
            )
        }
    }
}

fn trouble(outcome: &Outcome, width: usize, out: &mut impl Write) -> io::Result<()> {
    let meaning = if outcome.status == Status::Critical { Meaning::Bad } else { Meaning::Odd };
    writeln!(out, "{}", sentence::bullet(meaning, &printable(&outcome.says), width))?;
    if let Some(fix) = &outcome.fix {
        writeln!(out, "{}", sentence::note(&format!("Fix: {}", printable(fix)), width))?;
    }
    let asked = question(&outcome.check).map_or_else(|| outcome.check.clone(), str::to_owned);
    writeln!(
        out,
        "{}",
        sentence::place(
            &format!("{asked} ({}; {})", outcome.check, printable(&outcome.seen)),
            width
        )
    )
}

/// Outcomes with one status; those that say the same in one.
fn alike(examination: &Examination, status: Status) -> Vec<(Vec<&str>, &Outcome)> {
    let mut groups: Vec<(Vec<&str>, &Outcome)> = Vec::new();
    for outcome in examination.outcomes.iter().filter(|outcome| outcome.status == status) {
        let same = groups
            .iter_mut()
            .find(|(_, known)| known.says == outcome.says && known.fix == outcome.fix);
        match same {
            Some((checks, _)) => checks.push(&outcome.check),
            None => groups.push((vec![&outcome.check], outcome)),
        }
    }
    groups
}

fn aside(checks: &[&str], outcome: &Outcome, width: usize, out: &mut impl Write) -> io::Result<()> {
    let says = outcome.says.strip_prefix("Not checked: ").unwrap_or(&outcome.says);
    let leads = if outcome.status == Status::Unknown { "See" } else { "Fix:" };
    let fix = outcome.fix.as_ref().map(|fix| format!(" {leads} {fix}.")).unwrap_or_default();
    writeln!(
        out,
        "{}",
        sentence::note(&printable(&format!("{}: {says}{fix}", checks.join(", "))), width)
    )
}
