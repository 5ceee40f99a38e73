//! The first lines: whether it is slower, by how much, and what that is made of.

use super::figure::{self, absolute, amount};
use crate::export::text::style::Meaning;
use railscope_core::compare::Comparison;
use railscope_core::compare::bootstrap::FEWEST;
use railscope_core::compare::comparable::Mismatch;
use railscope_core::compare::difference::{Difference, Figure, Outcome};
use railscope_core::report::words::number::{bytes, count, counted, percent};

/// Most parts of a change that are named.
const PARTS: usize = 3;

/// What one value is.
pub(super) fn noun(comparison: &Comparison) -> &'static str {
    let is_by_collective = comparison.unit == "collective" && comparison.answer.is_some();
    if is_by_collective { "collective" } else { "training step" }
}

/// Heading of the rows.
pub(super) fn heading(comparison: &Comparison) -> &'static str {
    if comparison.unit == "training_step" { "PER TRAINING STEP" } else { "PER COLLECTIVE" }
}

/// The first lines, each with what it means.
pub(super) fn lines(comparison: &Comparison) -> Vec<(Meaning, String)> {
    let mut lines = Vec::new();
    if !comparison.mismatches.is_empty() {
        lines.push((Meaning::Bad, mismatch(&comparison.mismatches)));
    }
    let Some(answer) = &comparison.answer else {
        let sides = [&comparison.before, &comparison.after];
        let is_outside = sides.iter().any(|side| side.values == 0 && side.left_out.outside > 0);
        let text = if is_outside {
            "Nothing to compare: no training step is in a window."
        } else {
            "Nothing to compare: the two sides have neither training steps nor collectives of one kind \
             and size in common."
        };
        lines.push((Meaning::Bad, text.to_owned()));
        return lines;
    };
    let is_comparable = comparison.mismatches.is_empty();
    let meaning = match answer.outcome {
        _ if !is_comparable => Meaning::Aside,
        Outcome::Higher => Meaning::Bad,
        Outcome::Lower => Meaning::Good,
        Outcome::NoDifferenceShown => Meaning::Heading,
        Outcome::TooLittle | Outcome::Unknown => Meaning::Odd,
    };
    lines.push((meaning, sentence(comparison, answer)));
    if is_comparable && answer.is_shown() {
        lines.push((Meaning::Heading, parts(comparison, answer)));
    } else if let Some(others) = others(comparison) {
        lines.push((Meaning::Odd, others));
    }
    lines
}

fn mismatch(all: &[Mismatch]) -> String {
    let part = |one: &Mismatch| {
        let [before, after] = [one.before, one.after].map(|value| match one.what {
            "bytes_per_step" => bytes(value),
            _ => count(value),
        });
        let what = match one.what {
            "ranks" => " ranks",
            "collectives_per_step" => " collectives per training step",
            "bytes_per_step" => " per training step",
            _ => "",
        };
        format!("{before}{what} before, {after} after")
    };
    let (points, work): (Vec<&Mismatch>, Vec<&Mismatch>) =
        all.iter().partition(|one| one.what == "capture_points");
    let said = |what: &str, all: &[&Mismatch]| {
        let parts: Vec<String> = all.iter().map(|one| part(one)).collect();
        (!parts.is_empty()).then(|| format!("{what}: {}.", parts.join("; ")))
    };
    let said = [
        said("These jobs do not do the same work", &work),
        said("The jobs were captured at different points", &points),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    format!("{} What follows says nothing about the cluster.", said.join(" "))
}

fn subject(comparison: &Comparison, answer: &Difference) -> String {
    if comparison.unit == "training_step" {
        "Training steps".to_owned()
    } else {
        format!("Collectives ({})", figure::name(answer))
    }
}

fn sentence(comparison: &Comparison, answer: &Difference) -> String {
    let subject = subject(comparison, answer);
    let mean = |side: Option<Figure>| side.map_or(0.0, |figure| figure.mean);
    let values = |side: Option<Figure>| side.map_or(0, |figure| figure.values);
    let (before, after) = (mean(answer.before), mean(answer.after));
    let times = format!("{} before, {} after", amount("ns", before), amount("ns", after));
    let noun = noun(comparison);
    match answer.outcome {
        Outcome::Higher | Outcome::Lower => {
            let word = if answer.outcome == Outcome::Higher { "slower" } else { "faster" };
            let by = answer.relative.map_or_else(String::new, |share| percent(share.abs()));
            format!("{subject} are {by} {word} ({}): {times}.", range(answer))
        }
        Outcome::NoDifferenceShown => {
            let least = figure::smallest(answer);
            let least = format!(
                " {} before and {} after show a change of {least} or more four times in five.",
                counted(values(answer.before), noun),
                count(values(answer.after)),
            );
            format!(
                "{subject}: no difference that this much data can show ({}): {times}.{least}{}",
                figure::interval_words(answer),
                slow(comparison)
            )
        }
        Outcome::TooLittle | Outcome::Unknown => format!(
            "Too little to compare: {} before, {} after; {FEWEST} are needed on each side.",
            counted(values(answer.before), noun),
            count(values(answer.after)),
        ),
    }
}

/// That no part of a change is more than chance; where it lies, if that much is known.
fn unexplained(comparison: &Comparison, answer: &Difference, whole: f64) -> String {
    let is_alike = |row: &&Difference| {
        let signs = [row, &answer].map(|row| row.change.unwrap_or(0.0) > 0.0);
        figure::excludes_zero(row) && signs[0] == signs[1]
    };
    let places = ["communication_time", "idle_time"].into_iter();
    let place = places.filter_map(|name| comparison.row(name)).find(is_alike);
    let place = place
        .map_or_else(String::new, |row| format!(" Most of it is {}.", figure::explanation(row)));
    format!(
        "No single cause explains these {} a {}: no wait differs by more than chance.{place} \
         `railscope analyze` on each side names what is wrong there.",
        absolute("ns", whole),
        noun(comparison)
    )
}

/// Rows that differ although the answer does not.
fn others(comparison: &Comparison) -> Option<String> {
    let shown: Vec<&Difference> = comparison.rows.iter().filter(|row| row.is_shown()).collect();
    let one = |row: &&Difference| {
        let mean = |side: Option<Figure>| side.map_or(0.0, |figure| figure.mean);
        let (before, after) =
            (amount(row.unit, mean(row.before)), amount(row.unit, mean(row.after)));
        format!("{} ({before} before, {after} after)", figure::name(row))
    };
    let listed: Vec<String> = shown.iter().take(PARTS).map(one).collect();
    let more = match shown.len().saturating_sub(PARTS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!listed.is_empty()).then(|| format!("What differs: {}{more}.", listed.join("; ")))
}

/// That a few steps took far longer on one side, which means say little about.
fn slow(comparison: &Comparison) -> String {
    let (before, after) = (&comparison.before, &comparison.after);
    if before.slow == after.slow {
        return String::new();
    }
    format!(
        " But {} of {} after, and {} of {} before, took more than 1.5 times the usual: look at those with \
         `railscope analyze`.",
        count(after.slow),
        count(after.values),
        count(before.slow),
        count(before.values)
    )
}

/// `95 %: 4.2 to 6.0 %`, without signs: the word behind has the direction.
fn range(answer: &Difference) -> String {
    match (answer.relative_low, answer.relative_high) {
        (Some(low), Some(high)) => {
            let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
            let least = percent(least);
            format!("95 %: {} to {}", least.trim_end_matches(" %"), percent(most))
        }
        _ => figure::interval_words(answer),
    }
}

/// What the change is made of.
fn parts(comparison: &Comparison, answer: &Difference) -> String {
    let whole = answer.change.unwrap_or(0.0).abs();
    let all: Vec<&Difference> = comparison
        .explained_by
        .iter()
        .filter_map(|name| comparison.row(name))
        .take(PARTS)
        .collect();
    if all.is_empty() {
        return unexplained(comparison, answer, whole);
    }
    let direction = if answer.outcome == Outcome::Higher { "went into" } else { "were saved on" };
    let part = |row: &&Difference| {
        let own = row.change.unwrap_or(0.0).abs().min(whole);
        let time = if own < whole { absolute("ns", own) } else { "all".to_owned() };
        format!("{time} {direction} {}", figure::explanation(row))
    };
    let listed: Vec<String> = all.iter().map(part).collect();
    format!("Of these {} a {}, {}.", absolute("ns", whole), noun(comparison), listed.join("; "))
}
