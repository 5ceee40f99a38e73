//! Two reports side by side: what changed, by how much, and whether chance could have done it.
//!
//! It reads reports as JSON, of this release and of earlier ones; captures are analysed first and go
//! the same way. Every figure has a value for each training step, and intervals come from resampling
//! steps.

pub mod bootstrap;
pub mod comparable;
pub mod difference;
pub mod document;
mod family;
pub mod measure;
pub mod random;
pub mod sample;
pub mod selection;
pub mod setting;
pub mod total;

use schemars::JsonSchema;
use serde::Serialize;

use self::comparable::Mismatch;
use self::difference::{Difference, Outcome};
use self::document::{Document, Verdict};
use self::measure::Measure;
use self::selection::{LeftOut, Selection, Window};
use self::setting::SettingDifference;
use self::total::{PathsReport, TotalReport};

/// Name and version of the contract.
pub const SCHEMA: &str = "railscope.compare/1";

/// A training step this many times as long as the usual one is slow.
const SLOW: f64 = 1.5;

/// One side of a comparison.
pub struct Side<'a> {
    /// What the user calls it: its files.
    pub name: String,
    /// Its report.
    pub document: &'a Document,
    /// The part of it that is compared; `None` is all.
    pub window: Option<Window>,
}

/// How to compare.
#[derive(Clone, Copy, Debug)]
pub struct CompareSettings {
    /// Training steps left out at the start of a job.
    pub warm_up: u32,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self { warm_up: 1, seed: 1 }
    }
}

/// What changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Name and version of this contract: `railscope.compare/1`.
    pub schema: &'static str,
    /// What was compared first.
    pub before: SideReport,
    /// What was compared with it.
    pub after: SideReport,
    /// What one value is: `training_step`, or `collective` where no training steps are known.
    pub unit: &'static str,
    /// Work that is not the same: the jobs cannot be compared. Empty if they can.
    pub mismatches: Vec<Mismatch>,
    /// Training steps, or the collectives of the kind and size that most time went to; `null` if no
    /// side has any.
    pub answer: Option<Difference>,
    /// In at most this share of comparisons of equal jobs, `answer` is a difference by chance.
    pub false_answers: f64,
    /// What the change of the answer is made of: rows of `rows` that are differences, that with most time
    /// first.
    pub explained_by: Vec<String>,
    /// The other figures.
    pub rows: Vec<Difference>,
    /// In at most this share of comparisons of equal jobs, any of `rows` is a difference by chance.
    pub false_rows: f64,
    /// Figures of the whole reports, without intervals; empty for windows.
    pub totals: Vec<TotalReport>,
    /// Paths between addresses.
    pub paths: PathsReport,
    /// Versions and settings that differ.
    pub settings: Vec<SettingDifference>,
    /// Titles of verdicts, warnings or worse, that only the second report has; empty for windows.
    pub new_verdicts: Vec<String>,
    /// Those that only the first has.
    pub gone_verdicts: Vec<String>,
}

/// One side.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SideReport {
    /// Its files, as given.
    pub name: String,
    /// The release that made its report.
    pub version: String,
    /// `id` of the communicator whose training steps are compared.
    pub communicator: Option<String>,
    /// Training steps, or collectives, that are compared.
    pub values: u64,
    /// Those among them that took more than 1.5 times the first side's median.
    pub slow: u64,
    /// Those that are not.
    pub left_out: LeftOut,
    /// Jobs of the same report with fewer training steps, which are not compared.
    pub other_jobs: u64,
}

/// Compares two sides.
#[must_use]
pub fn compare(before: &Side<'_>, after: &Side<'_>, settings: CompareSettings) -> Comparison {
    let documents = [before.document, after.document];
    let (answered, [one, other]) = select(before, after, settings);
    let mut answer =
        answered.as_ref().map(|measure| Difference::new(measure, &one, &other, settings.seed));
    if let Some(answer) = &mut answer {
        answer.judge(answer.probability.is_some_and(|chance| chance <= family::OF_ANSWER));
    }
    let measures = measure::rows(&one, &other);
    let mut rows: Vec<Difference> = (1..)
        .zip(&measures)
        .map(|(at, measure)| Difference::new(measure, &one, &other, settings.seed.wrapping_add(at)))
        .collect();
    let usual = answer.as_ref().and_then(|answer| answer.before).map_or(0.0, |figure| figure.mean);
    let chances: Vec<f64> = rows.iter().map(|row| row.probability.unwrap_or(1.0)).collect();
    for (row, is_difference) in rows.iter_mut().zip(family::differences(&chances, family::OF_ROWS))
    {
        row.judge(is_difference && matters(row, usual));
    }
    let is_whole = before.window.is_none() && after.window.is_none();
    let verdicts = |own: &Document, other: &Document| {
        if is_whole { only(&own.verdicts, &other.verdicts) } else { Vec::new() }
    };
    let slow = |side: &Selection<'_>| slow(answered.as_ref(), &one, side);
    let has_iterations = matches!(answered, Some(Measure::IterationTime));
    Comparison {
        schema: SCHEMA,
        unit: if has_iterations { "training_step" } else { "collective" },
        mismatches: comparable::mismatches(documents, [&one, &other]),
        explained_by: explained(answer.as_ref(), &measures, &rows),
        answer,
        false_answers: family::OF_ANSWER,
        rows,
        false_rows: family::OF_ROWS,
        totals: if is_whole { total::totals(before.document, after.document) } else { Vec::new() },
        paths: total::paths(before.document, after.document),
        settings: setting::differences(before.document, after.document),
        new_verdicts: verdicts(after.document, before.document),
        gone_verdicts: verdicts(before.document, after.document),
        before: SideReport::new(before, &one, slow(&one)),
        after: SideReport::new(after, &other, slow(&other)),
    }
}

/// Whether a change is worth a word, if it is one.
fn matters(row: &Difference, usual_ns: f64) -> bool {
    let least = match row.unit {
        "ns" => family::MATTERS * usual_ns,
        "share" => family::SHARE_MATTERS,
        _ => 0.0,
    };
    row.change.is_some_and(|change| change.abs() >= least)
}

/// What the answer is about, and the values of both sides.
fn select<'a>(
    before: &Side<'a>,
    after: &Side<'a>,
    settings: CompareSettings,
) -> (Option<Measure>, [Selection<'a>; 2]) {
    let sides = [before, after];
    let by_iteration =
        sides.map(|side| selection::iterations(side.document, side.window, settings.warm_up));
    if by_iteration.iter().all(|side| !side.units.is_empty()) {
        return (Some(Measure::IterationTime), by_iteration);
    }
    let Some(shape) = selection::main_shape(before.document, after.document) else {
        return (None, by_iteration);
    };
    let by_collective = sides
        .map(|side| selection::collectives(side.document, shape, side.window, settings.warm_up));
    (Some(Measure::Collective(shape.0.to_owned(), shape.1)), by_collective)
}

/// How many values of `side` are far above the first side's median.
fn slow(measure: Option<&Measure>, first: &Selection<'_>, side: &Selection<'_>) -> u64 {
    let Some(measure) = measure else { return 0 };
    let mut usual = measure.series(first);
    usual.sort_by(f64::total_cmp);
    let median = usual.get(usual.len().saturating_sub(1) / 2).copied();
    let is_slow = |value: &f64| median.is_some_and(|median| *value > SLOW * median);
    measure.series(side).iter().filter(|value| is_slow(value)).count() as u64
}

/// Rows that the change of the answer is made of: differences in the same direction.
fn explained(
    answer: Option<&Difference>,
    measures: &[Measure],
    rows: &[Difference],
) -> Vec<String> {
    let Some(answer) = answer.filter(|answer| answer.is_shown()) else { return Vec::new() };
    let parts = measures.iter().zip(rows).filter(|(measure, row)| {
        measure.is_part() && row.is_shown() && row.outcome == answer.outcome
    });
    let size = |row: &Difference| row.change.unwrap_or(0.0).abs();
    let mut parts: Vec<&Difference> = parts.map(|(_, row)| row).collect();
    parts.sort_by(|one, other| size(other).total_cmp(&size(one)));
    parts.into_iter().map(|row| row.measure.clone()).collect()
}

/// Titles of warnings and worse in `own` that `other` does not have about the same place.
fn only(own: &[Verdict], other: &[Verdict]) -> Vec<String> {
    let is_problem = |one: &&Verdict| matches!(one.severity.as_str(), "warning" | "critical");
    let same = |one: &Verdict, other: &Verdict| one.id == other.id && one.subject == other.subject;
    let new = own
        .iter()
        .filter(is_problem)
        .filter(|one| !other.iter().filter(is_problem).any(|other| same(one, other)));
    new.map(|one| one.title.clone()).collect()
}

impl SideReport {
    fn new(side: &Side<'_>, selection: &Selection<'_>, slow: u64) -> Self {
        Self {
            name: side.name.clone(),
            version: side.document.tool.version.clone(),
            communicator: selection.communicator.map(str::to_owned),
            values: selection.units.len() as u64,
            slow,
            left_out: selection.left_out,
            other_jobs: selection.other_jobs,
        }
    }
}

impl Comparison {
    /// Whether the answer can be trusted: the jobs do the same work, and there are enough values.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        let enough = self.answer.as_ref().is_some_and(|answer| answer.probability.is_some());
        enough && self.mismatches.is_empty()
    }

    /// The row of this name, the answer included.
    #[must_use]
    pub fn row(&self, measure: &str) -> Option<&Difference> {
        self.answer.iter().chain(&self.rows).find(|row| row.measure == measure)
    }

    /// Whether anything measured differs.
    #[must_use]
    pub fn has_difference(&self) -> bool {
        self.answer.iter().chain(&self.rows).any(Difference::is_shown)
    }

    /// Whether training steps, or collectives, take longer.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.outcome == Outcome::Higher)
    }
}
