//! Which training steps of a report are compared.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Collective, Document, Iteration};

/// A part of a report: nanoseconds relative to its first frame. A training step is in it with its start
/// and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub since_ns: i64,
    /// Its end.
    pub until_ns: i64,
}

/// Training steps that are not compared, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The first ones of the job: connections are set up, programs compiled, caches filled.
    pub warm_up: u64,
    /// Cut by the capture, or calls are missing.
    pub incomplete: u64,
    /// The last one of the job: no next one shows when it ended.
    pub last: u64,
    /// Outside the window.
    pub outside: u64,
}

/// What varies from one value of a figure to the next.
pub(super) struct Unit<'a> {
    /// `None`: the unit is a collective.
    pub(super) iteration: Option<&'a Iteration>,
    pub(super) collectives: Vec<&'a Collective>,
}

/// The units of one side, in order of time.
#[derive(Default)]
pub(super) struct Selection<'a> {
    pub(super) communicator: Option<&'a str>,
    pub(super) units: Vec<Unit<'a>>,
    pub(super) left_out: LeftOut,
    pub(super) other_jobs: u64,
}

/// The training steps of the job with the most of them; of several, of the first.
pub(super) fn iterations<'a>(
    document: &'a Document,
    window: Option<Window>,
    warm_up: u32,
) -> Selection<'a> {
    let mut jobs: BTreeMap<Option<&str>, Vec<&Iteration>> = BTreeMap::new();
    for one in &document.iterations {
        jobs.entry(one.communicator.as_deref()).or_default().push(one);
    }
    let is_inside = |one: &Iteration| {
        window.is_none_or(|window| window.since_ns <= one.start_ns && one.end_ns <= window.until_ns)
    };
    let inside = |all: &[&Iteration]| all.iter().filter(|one| is_inside(one)).count();
    let start = |all: &[&Iteration]| all.iter().map(|one| one.start_ns).min();
    let most = jobs.iter().max_by_key(|(_, all)| (inside(all), std::cmp::Reverse(start(all))));
    let Some((communicator, all)) = most else { return Selection::default() };
    let last = all.iter().map(|one| one.iteration).max();
    let by_id = ids(document);
    let mut left_out = LeftOut::default();
    let mut units = Vec::new();
    for one in all {
        if !is_inside(one) {
            left_out.outside += 1;
        } else if one.sets_up || one.iteration < warm_up {
            left_out.warm_up += 1;
        } else if one.complete == Some(false) {
            left_out.incomplete += 1;
        } else if Some(one.iteration) == last {
            left_out.last += 1;
        } else {
            let collectives = one.collective_ids.iter().filter_map(|id| by_id.get(id).copied());
            units.push(Unit { iteration: Some(*one), collectives: collectives.collect() });
        }
    }
    units.sort_by_key(|unit| unit.iteration.map(|one| one.start_ns));
    Selection { communicator: *communicator, units, left_out, other_jobs: jobs.len() as u64 - 1 }
}

fn ids(document: &Document) -> BTreeMap<u32, &Collective> {
    let numbered = (0..).zip(&document.collectives);
    numbered.map(|(at, one)| (one.id.unwrap_or(at), one)).collect()
}

/// A collective's kind and size.
pub(super) type Shape<'a> = (&'a str, Option<u64>);

/// The kind and size that most time went to on the first side, of those that both have.
pub(super) fn main_shape<'a>(before: &'a Document, after: &'a Document) -> Option<Shape<'a>> {
    let shapes: BTreeSet<Shape<'_>> = after.collectives.iter().map(shape).collect();
    let mut times: BTreeMap<Shape<'_>, i64> = BTreeMap::new();
    for one in before.collectives.iter().filter(|one| shapes.contains(&shape(one))) {
        let time = times.entry(shape(one)).or_default();
        *time = time.saturating_add(one.end_ns.saturating_sub(one.start_ns));
    }
    times.into_iter().max_by_key(|(_, time)| *time).map(|(shape, _)| shape)
}

/// The kind and size of a collective.
pub(super) fn shape(one: &Collective) -> Shape<'_> {
    (&one.kind, one.bytes)
}

/// The collectives of one kind and size, each as a unit; for reports without training steps.
pub(super) fn collectives<'a>(
    document: &'a Document,
    wanted: Shape<'_>,
    window: Option<Window>,
    warm_up: u32,
) -> Selection<'a> {
    let mut left_out = LeftOut::default();
    let mut units = Vec::new();
    for one in document.collectives.iter().filter(|one| shape(one) == wanted) {
        let is_inside = window
            .is_none_or(|window| window.since_ns <= one.start_ns && one.end_ns <= window.until_ns);
        if !is_inside {
            left_out.outside += 1;
        } else if one.unfinished {
            left_out.incomplete += 1;
        } else if left_out.warm_up < u64::from(warm_up) {
            left_out.warm_up += 1;
        } else {
            units.push(Unit { iteration: None, collectives: vec![one] });
        }
    }
    let communicator = units.first().and_then(|unit| unit.collectives.first());
    let communicator = communicator.map(|one| one.communicator.as_str());
    Selection { communicator, units, left_out, other_jobs: 0 }
}
