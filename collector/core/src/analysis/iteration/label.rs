//! The training's own numbers of its training steps, from an anchor or a training log.
//!
//! The training and the capture both count every training step, so one difference between the two
//! counts labels all of them. It is found
//!
//! * from an anchor: the number of the training step that runs at a time,
//! * from lines with a timestamp: such a line is written after the last call of the training step
//!   that it names and before the last call of the next; most lines have to agree,
//! * from the step lengths in lines, if they match the capture's at one difference only,
//! * from the order, if capture and log both begin with the job and have the same number of steps.
//!
//! Otherwise training steps have no label, and a [`LabelNote`] is the reason.

use std::collections::BTreeMap;

use super::Iteration;
use super::thresholds::{
    AGREEING_LINES, CLEARLY_WORSE, EQUAL_LENGTHS, FEWEST_LENGTHS, LAST_LINE_PARTS,
    LENGTH_COMPARISONS, QUARTER_NS, QUARTERS,
};
use super::train_log::{Numbered, TrainLog};
use crate::analysis::collective::Collective;
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;
use crate::model::time::{Span, Timestamp};

/// The number of the training step that runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// A time at which the step ran.
    pub time: Timestamp,
    /// The training's own number for the step.
    pub label: u64,
}

/// Sources of labels other than the capture.
#[derive(Clone, Debug, Default)]
pub struct LabelSources {
    /// From the command line.
    pub anchor: Option<Anchor>,
    /// From training logs, in the order given.
    pub logs: Vec<TrainLog>,
    /// Nanoseconds by which the logs' clocks are ahead of UTC; `None` if not set.
    pub zone_ns: Option<i64>,
}

/// How one source was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelUse {
    /// Index of the log in [`LabelSources::logs`]; `None` for the anchor.
    pub log: Option<usize>,
    /// How the difference was found.
    pub method: Option<LabelMethod>,
    /// Nanoseconds by which the log's clock is assumed to be ahead of UTC.
    pub zone_ns: Option<i64>,
    /// Lines that agree with the labels, and lines within the capture.
    pub agreeing: (u64, u64),
    /// Why it gave no labels, or a caveat on those that it gave.
    pub note: Option<LabelNote>,
}

impl LabelUse {
    /// A source that gave no labels, without a reason yet.
    const UNUSED: Self =
        Self { log: None, method: None, zone_ns: None, agreeing: (0, 0), note: None };
}

/// Why a source gave no labels, or a caveat on its labels. `report::words::label` words them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelNote {
    /// An earlier source, which wins, gives other labels.
    Contradicts,
    /// No training step runs at the anchor's time.
    NothingAtAnchor,
    /// Training steps of several jobs run at the anchor's time.
    SeveralAtAnchor,
    /// The capture has no training steps.
    NoTrainingSteps,
    /// The capture has several jobs: the log may belong to any.
    SeveralJobs,
    /// No line of the log names a training step.
    NoNumbers,
    /// Caveat: only this time zone, which is not UTC, puts lines into the capture.
    OnlyZone,
    /// Caveat: other zones would fit as well as UTC.
    AssumedUtc,
    /// No time zone puts a line into the capture.
    OutsideCapture,
    /// Several time zones put lines into the capture, and UTC does not.
    SeveralZones,
    /// Each line fits several training steps, because its timestamp is rounded.
    Coarse,
    /// Too few lines agree on one difference.
    Drift,
    /// Lines have neither a timestamp nor a step length.
    NoTimesOrLengths,
    /// Lines have no timestamps, and their step lengths fit nowhere, or in several places.
    LengthsUnclear,
}

/// How the difference between two counts was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelMethod {
    /// The training step that runs at the anchor's time.
    Anchor,
    /// Lines with a timestamp.
    Time,
    /// Step lengths that match the capture's.
    Length,
    /// The capture and the log both begin with the job.
    Order,
}

impl LabelMethod {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Time => "time",
            Self::Length => "length",
            Self::Order => "order",
        }
    }
}

/// A job's training steps, as labelling needs them.
struct Counted<'a> {
    iterations: Vec<&'a Iteration>,
    /// Start of the last call of each.
    last_calls: Vec<Timestamp>,
    is_from_init: bool,
}

/// Labels the training steps. Returns how each source was used, the anchor first.
pub fn apply(
    sources: &LabelSources,
    collectives: &[Collective],
    iterations: &mut [Iteration],
) -> Vec<LabelUse> {
    let mut uses = Vec::new();
    let mut label = None;
    if let Some(anchor) = sources.anchor {
        let (used, found) = by_anchor(anchor, iterations);
        label = found;
        uses.push(used);
    }
    for (at, log) in sources.logs.iter().enumerate() {
        let (used, difference) = by_log(log, sources.zone_ns, collectives, iterations);
        let used = LabelUse { log: Some(at), ..used };
        let note = match (label, difference) {
            (Some(known), Some(found)) if known != found => Some(LabelNote::Contradicts),
            _ => used.note,
        };
        label = label.or(difference);
        uses.push(LabelUse { note, ..used });
    }
    if let Some((communicator, difference)) = label {
        for one in iterations.iter_mut().filter(|one| one.communicator == communicator) {
            let label = i64::from(one.number).checked_add(difference);
            one.label = label.filter(|label| *label >= 0).map(|label| label.to_string());
        }
    }
    uses
}

/// The labelled job, and its labels minus its step numbers.
type Found = Option<(CommunicatorId, i64)>;

fn unused(note: LabelNote) -> LabelUse {
    LabelUse { note: Some(note), ..LabelUse::UNUSED }
}

fn by_anchor(anchor: Anchor, iterations: &[Iteration]) -> (LabelUse, Found) {
    let runs = |one: &&Iteration| (one.span.first..one.span.last).contains(&anchor.time);
    let running: Vec<&Iteration> = iterations.iter().filter(runs).collect();
    match running.as_slice() {
        [] => (unused(LabelNote::NothingAtAnchor), None),
        [one] => {
            let used = LabelUse { method: Some(LabelMethod::Anchor), ..LabelUse::UNUSED };
            let label = i64::try_from(anchor.label).unwrap_or(i64::MAX);
            (used, Some((one.communicator, label.saturating_sub(i64::from(one.number)))))
        }
        _ => (unused(LabelNote::SeveralAtAnchor), None),
    }
}

fn by_log(
    log: &TrainLog,
    zone_ns: Option<i64>,
    collectives: &[Collective],
    iterations: &[Iteration],
) -> (LabelUse, Found) {
    let lines = log.counted();
    let mut jobs: BTreeMap<CommunicatorId, Vec<&Iteration>> = BTreeMap::new();
    for one in iterations {
        jobs.entry(one.communicator).or_default().push(one);
    }
    let (communicator, iterations) = match (jobs.len(), jobs.into_iter().next()) {
        (1, Some(only)) => only,
        (0, _) | (_, None) => return (unused(LabelNote::NoTrainingSteps), None),
        _ => return (unused(LabelNote::SeveralJobs), None),
    };
    if lines.is_empty() {
        return (unused(LabelNote::NoNumbers), None);
    }
    let job = Counted::new(iterations, collectives);
    let (used, difference) = if lines.iter().any(|one| one.says.stamp.is_some()) {
        by_time(&lines, zone_ns, &job)
    } else {
        match by_length(&lines, &job) {
            (used, None) => match by_order(&lines, &job) {
                Some((used, difference)) => (used, Some(difference)),
                None => (used, None),
            },
            found => found,
        }
    };
    (used, difference.map(|difference| (communicator, difference)))
}

impl<'a> Counted<'a> {
    fn new(iterations: Vec<&'a Iteration>, collectives: &[Collective]) -> Self {
        let last_call = |one: &&Iteration| {
            let calls = one.collectives.iter().filter_map(|at| collectives.get(*at));
            let own = calls.filter(|call| call.communicator == one.communicator);
            own.map(|call| call.span.first).max().unwrap_or(one.span.first)
        };
        let last_calls = iterations.iter().map(last_call).collect();
        let first = iterations.first().and_then(|one| collectives.get(*one.collectives.first()?));
        let is_from_init = first.is_some_and(|first| first.is_counted_from_init);
        Self { iterations, last_calls, is_from_init }
    }

    fn span(&self) -> Option<Span> {
        let (first, last) = self.iterations.first().zip(self.iterations.last())?;
        let lengths = self.iterations.iter().map(|one| one.length_ns());
        // The line about the last step is written after its last packet.
        Some(Span {
            first: first.span.first,
            last: last.span.last.plus_nanos(lower_median(lengths).unwrap_or(0) / LAST_LINE_PARTS),
        })
    }

    /// Number of the training step whose last call was the latest to begin by `time`.
    fn done_at(&self, time: Timestamp) -> Option<i64> {
        let begun = self.last_calls.partition_point(|call| *call <= time);
        let one = self.iterations.get(begun.checked_sub(1)?)?;
        Some(i64::from(one.number))
    }
}

fn by_time(lines: &[Numbered], zone_ns: Option<i64>, job: &Counted<'_>) -> (LabelUse, Option<i64>) {
    let Some(span) = job.span() else { return (unused(LabelNote::NoTrainingSteps), None) };
    let votes = |zone: i64| votes(lines, zone, job, span);
    let mut zones: Vec<i64> = match zone_ns {
        Some(zone) => vec![zone],
        None => QUARTERS.map(|quarter| quarter * QUARTER_NS).collect(),
    };
    zones.retain(|zone| votes(*zone).of > 0);
    let (zone, note) = match zones.as_slice() {
        [] => return (unused(LabelNote::OutsideCapture), None),
        [zone] if zone_ns.is_some() || *zone == 0 => (*zone, None),
        [zone] => (*zone, Some(LabelNote::OnlyZone)),
        several if several.contains(&0) => (0, Some(LabelNote::AssumedUtc)),
        _ => return (unused(LabelNote::SeveralZones), None),
    };
    let Votes { of, agreeing, best, is_tie } = votes(zone);
    let used = LabelUse { zone_ns: Some(zone), agreeing: (agreeing, of), ..LabelUse::UNUSED };
    if (agreeing as f64) < AGREEING_LINES * of as f64 {
        return (LabelUse { note: Some(LabelNote::Drift), ..used }, None);
    }
    if is_tie {
        return (LabelUse { note: Some(LabelNote::Coarse), ..used }, None);
    }
    (LabelUse { method: Some(LabelMethod::Time), note, ..used }, best)
}

/// How lines vote for the difference between the two counts.
struct Votes {
    /// Lines in the capture.
    of: u64,
    /// Lines that agree with `best`.
    agreeing: u64,
    best: Option<i64>,
    /// Another difference has as many lines.
    is_tie: bool,
}

fn votes(lines: &[Numbered], zone: i64, job: &Counted<'_>, span: Span) -> Votes {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    let mut of = 0;
    for one in lines {
        let Some(stamp) = one.says.stamp else { continue };
        let Some(utc) = stamp.local_ns.checked_add_signed(-zone) else { continue };
        let time = Timestamp::from_nanos(utc);
        let latest = time.plus_nanos(stamp.resolution_ns - 1);
        if latest < span.first || time > span.last {
            continue;
        }
        let (Some(from), Some(to)) = (job.done_at(time).or(Some(-1)), job.done_at(latest)) else {
            continue;
        };
        of += 1;
        let number = i64::try_from(one.says.number).unwrap_or(i64::MAX);
        for done in from.max(0)..=to {
            *counts.entry(number.saturating_sub(done)).or_insert(0) += 1;
        }
    }
    let agreeing = counts.values().copied().max().unwrap_or(0);
    let mut bests = counts.iter().filter(|(_, count)| **count == agreeing).map(|(best, _)| *best);
    let best = bests.next();
    Votes { of, agreeing, best, is_tie: bests.next().is_some() }
}

fn by_length(lines: &[Numbered], job: &Counted<'_>) -> (LabelUse, Option<i64>) {
    // Per line: its number, how many training steps it covers, their mean length in nanoseconds.
    let logged = lines.windows(2).filter_map(|pair| {
        let count =
            pair[1].says.number.checked_sub(pair[0].says.number).filter(|count| *count > 0)?;
        Some((i64::try_from(pair[1].says.number).ok()?, count, pair[1].says.length_ns?))
    });
    let mut logged: Vec<(i64, u64, u64)> = logged.collect();
    logged.sort_unstable();
    let mut starts = job.iterations.iter().map(|one| one.span.first.as_nanos()).collect::<Vec<_>>();
    starts.extend(job.iterations.last().map(|one| one.span.last.as_nanos()));
    // Mean length of the `count` training steps up to this one.
    let length = |number: i64, count: u64| {
        let end = usize::try_from(number.checked_add(1)?).ok()?;
        let from = end.checked_sub(usize::try_from(count).ok()?)?;
        // The capture may end before the last step does.
        let end = starts.get(end).filter(|_| end + 1 < starts.len())?;
        Some(end.saturating_sub(*starts.get(from)?) / count)
    };
    let (Some(first), Some(last)) = (logged.first(), logged.last()) else {
        return (unused(LabelNote::NoTimesOrLengths), None);
    };
    let lowest = first.0.saturating_sub(starts.len() as i64);
    let mut fits: Vec<(f64, i64, u64)> = Vec::new();
    let affordable = LENGTH_COMPARISONS / starts.len().max(1);
    for difference in (lowest..=last.0).take(affordable) {
        let from = logged.partition_point(|(number, ..)| *number < difference);
        let errors =
            logged[from..].iter().take(starts.len()).filter_map(|(number, count, length_ns)| {
                let seen = length(number.checked_sub(difference)?, *count)?;
                Some(seen.abs_diff(*length_ns) as f64 / (*length_ns).max(1) as f64)
            });
        let errors: Vec<f64> = errors.collect();
        if errors.len() >= FEWEST_LENGTHS {
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            fits.push((mean, difference, errors.len() as u64));
        }
    }
    fits.sort_by(|one, other| one.0.total_cmp(&other.0));
    match fits.as_slice() {
        [(error, difference, lines), rest @ ..]
            if *error <= EQUAL_LENGTHS
                && rest.first().is_none_or(|next| next.0 > CLEARLY_WORSE * error) =>
        {
            let agreeing = (*lines, *lines);
            let method = Some(LabelMethod::Length);
            (LabelUse { method, agreeing, ..LabelUse::UNUSED }, Some(*difference))
        }
        _ => (unused(LabelNote::LengthsUnclear), None),
    }
}

fn by_order(lines: &[Numbered], job: &Counted<'_>) -> Option<(LabelUse, i64)> {
    let numbers = || lines.iter().map(|one| one.says.number);
    let (first, last) = (numbers().min()?, numbers().max()?);
    let interval = lines.get(1).map_or(1, |next| next.says.number.saturating_sub(first).max(1));
    // Training steps after the last line of an interval are not logged.
    let label = first.saturating_sub(interval - 1);
    let counted = last.saturating_add(1).saturating_sub(label);
    let seen = job.iterations.len() as u64;
    if !job.is_from_init || !(counted..counted.saturating_add(interval)).contains(&seen) {
        return None;
    }
    let agreeing = (lines.len() as u64, lines.len() as u64);
    let method = Some(LabelMethod::Order);
    Some((LabelUse { method, agreeing, ..LabelUse::UNUSED }, i64::try_from(label).ok()?))
}
