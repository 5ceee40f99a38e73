//! Bars of the timeline: training steps, or collectives where there are none, with what made them
//! long. Neighbours share a bar where there are too many.

use std::collections::BTreeMap;

use super::cause::Part;
use super::page::{Page, moment};
use crate::export::text::iteration_story;
use crate::export::text::job_iterations::{JobIterations, name};
use crate::export::text::quantity::{counted, duration};
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::iterations::IterationReport;

/// Most bars in a chart.
const BARS: usize = 480;

/// A training step or collective, or the longest of several.
pub(super) struct Bar {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) length_ns: u64,
    /// Stacked on the usual duration: what the excess is made of.
    pub(super) excess: Vec<(Part, u64)>,
    /// How long the others waited for a late rank, by cause.
    pub(super) waits: Vec<(Part, u64)>,
    /// What it is and why it took that long, one line each.
    pub(super) lines: Vec<String>,
}

impl Bar {
    pub(super) fn excess_ns(&self) -> u64 {
        self.excess.iter().map(|(_, ns)| ns).sum()
    }

    pub(super) fn waited_ns(&self) -> u64 {
        self.waits.iter().map(|(_, ns)| ns).sum()
    }
}

/// Bars, and how many things each stands for.
pub(super) struct Bars {
    pub(super) all: Vec<Bar>,
    pub(super) per_bar: usize,
}

/// The training steps of a job.
pub(super) fn of_job(page: &Page<'_>, job: &JobIterations<'_>) -> Bars {
    group(job.all.iter().map(|one| of_iteration(page, one)).collect(), "training steps")
}

/// The collectives of a report without training steps.
pub(super) fn of_collectives(page: &Page<'_>) -> Bars {
    let bar = |one: &CollectiveReport| {
        let length_ns = u64::try_from(one.end_ns.saturating_sub(one.start_ns)).unwrap_or(0);
        let waits: Vec<(Part, u64)> = waits([one]);
        let mut lines =
            vec![format!("Collective {} ({}): {}", one.id, one.kind, duration(length_ns))];
        lines.extend(late(page, one));
        let (start_ns, end_ns) = (one.start_ns, one.end_ns);
        Bar { start_ns, end_ns, length_ns, excess: Vec::new(), waits, lines }
    };
    group(page.report.collectives.iter().map(bar).collect(), "collectives")
}

fn of_iteration(page: &Page<'_>, one: &IterationReport) -> Bar {
    let collectives = one.collective_ids.iter().filter_map(|id| page.collective(*id));
    let mut excess: Vec<(Part, u64)> = Vec::new();
    for part in &one.contributions {
        excess.push((Part::named(part.cause), part.ns));
    }
    excess.extend(one.remainder_ns.filter(|ns| *ns > 0).map(|ns| (Part::Unexplained, ns)));
    let mut lines = vec![format!("Training step {}: {}", name(one), duration(one.length_ns()))];
    lines.push(format!("starts at {}", moment(one.start_ns)));
    let special = match one.excess_ns {
        Some(ns) => Some(format!("{} longer than the median", duration(ns))),
        None if one.sets_up => Some("NCCL connects its channels".to_owned()),
        None if !one.complete => Some("not seen completely".to_owned()),
        None => None,
    };
    lines.extend(special);
    let worst = one.straggler_collective.and_then(|id| page.collective(id));
    lines.extend(worst.and_then(|worst| late(page, worst)));
    lines.extend(iteration_story::without(one));
    lines.extend(iteration_story::suffered(one));
    Bar {
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        length_ns: one.length_ns(),
        excess: summed(excess),
        waits: waits(collectives),
        lines,
    }
}

/// `5.18 ms waiting for rank 2 (10.0.0.3): its GPU was late`.
fn late(page: &Page<'_>, one: &CollectiveReport) -> Option<String> {
    let late = one.straggler.as_ref()?;
    let rank = page.rank(&one.communicator, late.rank);
    let host = page.host(&one.communicator, late.rank);
    let host = host.map(|host| format!(" ({host})")).unwrap_or_default();
    let cause = Part::Cause(late.cause).name();
    Some(format!("{} waiting for {rank}{host}: {cause}", duration(late.lag_ns)))
}

fn waits<'a>(collectives: impl IntoIterator<Item = &'a CollectiveReport>) -> Vec<(Part, u64)> {
    let late = collectives.into_iter().filter_map(|one| one.straggler.as_ref());
    summed(late.map(|late| (Part::Cause(late.cause), late.lag_ns)))
}

fn summed(parts: impl IntoIterator<Item = (Part, u64)>) -> Vec<(Part, u64)> {
    let mut sums: BTreeMap<Part, u64> = BTreeMap::new();
    for (part, ns) in parts {
        *sums.entry(part).or_insert(0) += ns;
    }
    sums.into_iter().filter(|(_, ns)| *ns > 0).collect()
}

/// At most [`BARS`] bars: each shows the longest of its neighbours.
fn group(all: Vec<Bar>, what: &str) -> Bars {
    let per_bar = all.len().div_ceil(BARS).max(1);
    if per_bar == 1 {
        return Bars { all, per_bar };
    }
    let mut grouped: Vec<Bar> = Vec::new();
    let mut rest = all.into_iter().peekable();
    while rest.peek().is_some() {
        let mut some: Vec<Bar> = rest.by_ref().take(per_bar).collect();
        let start_ns = some.iter().map(|bar| bar.start_ns).min().unwrap_or(0);
        let end_ns = some.iter().map(|bar| bar.end_ns).max().unwrap_or(0);
        let count = some.len();
        some.sort_by_key(|bar| std::cmp::Reverse((bar.length_ns, bar.waited_ns())));
        let Some(mut longest) = some.into_iter().next() else { continue };
        longest.lines.push(format!("the longest of {count} {what}"));
        grouped.push(Bar { start_ns, end_ns, ..longest });
    }
    Bars { all: grouped, per_bar }
}

impl Bars {
    /// What was left out; `None` if nothing was.
    pub(super) fn note(&self, what: &str) -> Option<String> {
        (self.per_bar > 1)
            .then(|| format!("each bar is the longest of {}", counted(self.per_bar as u64, what)))
    }
}
