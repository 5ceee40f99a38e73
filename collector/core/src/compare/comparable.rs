//! Whether two jobs do the same work, and were seen from as many points: else a difference of their training steps says
//! nothing.

use schemars::JsonSchema;
use serde::Serialize;

use super::document::Document;
use super::selection::Selection;

/// Bytes of a training step may differ by this share: sizes are rounded where messages were not seen.
const ALIKE: f64 = 0.01;

/// Work that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mismatch {
    /// `ranks`, `collectives_per_step`, `bytes_per_step`, or `capture_points`: waits depend on where packets were seen.
    pub what: &'static str,
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// What differs; empty for jobs that can be compared. What one side does not show is taken to be alike.
pub(super) fn mismatches(
    [before, after]: [&Document; 2],
    [one, other]: [&Selection<'_>; 2],
) -> Vec<Mismatch> {
    let figures = [
        ("ranks", ranks(before, one), ranks(after, other)),
        (
            "collectives_per_step",
            median(one, |unit| Some(unit.collectives)),
            median(other, |unit| Some(unit.collectives)),
        ),
        ("bytes_per_step", median(one, |unit| unit.bytes), median(other, |unit| unit.bytes)),
        ("capture_points", points(before), points(after)),
    ];
    let differs = |before: u64, after: u64, is_rounded: bool| {
        let least = if is_rounded { ALIKE * before.max(after) as f64 } else { 0.0 };
        before.abs_diff(after) as f64 > least
    };
    let found = figures.into_iter().filter_map(|(what, before, after)| {
        let (before, after) = (before?, after?);
        differs(before, after, what == "bytes_per_step").then_some(Mismatch { what, before, after })
    });
    found.collect()
}

/// `None` for reports of logs and counters alone.
fn points(document: &Document) -> Option<u64> {
    Some(document.taps.len() as u64).filter(|points| *points > 0)
}

fn ranks(document: &Document, selection: &Selection<'_>) -> Option<u64> {
    let wanted = selection.communicator?;
    document.communicators.iter().find(|one| one.id == wanted)?.nranks
}

fn median(
    selection: &Selection<'_>,
    of: impl Fn(&super::document::Iteration) -> Option<u64>,
) -> Option<u64> {
    let known = selection.units.iter().filter_map(|unit| of(unit.iteration?));
    let mut values: Vec<u64> = known.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}
