//! Training steps: which collectives belong to one, and when it began and ended.
//!
//! A job repeats the same calls in every training step. `group.rs` finds out which communicators
//! are one job, `timeline.rs` puts their collectives in order of time, `repeat.rs` and `unit.rs`
//! find repetition in the calls of a communicator, `rotation.rs` decides which call begins
//! it, `cut.rs` finds every occurrence, damaged ones as well, `signature.rs` composes these and
//! chooses the communicator that leads. Where calls do not repeat, `load.rs` looks for a regular
//! rhythm of load and silence. A job may have neither: then it has no training steps.
//!
//! `figures.rs` adds up bytes, marks and retransmissions of each; `pace.rs` says which stand out,
//! `cost.rs` what each cause cost, `excess.rs` what made them longer than usual, `job.rs` what they
//! amount to together; `label.rs` gives each the training's own number, from an anchor or a training log
//! (`train_log.rs`). `numbering.rs` continues the count after earlier ones were dropped.
//!
//! Evaluation, warm-up and pauses are between training steps and are not counted.

pub mod cost;
mod cut;
pub mod excess;
pub mod figures;
mod group;
pub mod job;
pub mod label;
mod load;
pub mod numbering;
pub mod pace;
mod repeat;
mod rhythm;
mod rotation;
mod signature;
mod thresholds;
mod timeline;
mod totals;
pub mod train_log;
mod unit;

use self::rhythm::{Piece, Rhythm};
use self::thresholds::{PAUSE_LENGTHS, TRAILING_SILENCE_PARTS};
use self::timeline::Timeline;
use super::collective::Collective;
use crate::link::job::{CommunicatorId, Job};
use crate::model::grade::Grade;
use crate::model::spread::lower_median;
use crate::model::time::Span;

/// One training step of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Number from 0, in order of time, counted per job.
    pub number: u32,
    /// The training's own number, from an anchor or a log: `4812`.
    pub label: Option<String>,
    /// The communicator whose collectives repeat with it.
    pub communicator: CommunicatorId,
    /// From its first data packet to the first of the next one; before a pause or another phase,
    /// to its last packet and the usual silence; of the last, to its last packet.
    pub span: Span,
    /// Indices of its collectives in the list of all, ascending, including those of the job's other
    /// communicators.
    pub collectives: Vec<usize>,
    /// Nanoseconds of its span with a collective in flight.
    pub communication_ns: u64,
    /// It has all calls that the other steps have: neither cut by the capture nor damaged.
    pub is_whole: bool,
    /// Confidence in its bounds.
    pub grade: Grade,
}

impl Iteration {
    /// Nanoseconds of its span with no collective in flight.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.length_ns().saturating_sub(self.communication_ns)
    }

    /// Nanoseconds from its start to its end.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.span.last.nanos_since(self.span.first)
    }
}

/// The training steps of all jobs in order of time. `collectives` are in order of time.
#[must_use]
pub fn iterations(job: &Job, collectives: &[Collective]) -> Vec<Iteration> {
    let mut all: Vec<Iteration> =
        group::jobs(job).iter().flat_map(|group| of_group(collectives, group)).collect();
    all.sort_by_key(|one| (one.span.first, one.communicator, one.number));
    all
}

/// The training steps of one job, with these communicators, ascending.
#[must_use]
pub fn of_group(collectives: &[Collective], group: &[CommunicatorId]) -> Vec<Iteration> {
    let timeline = Timeline::new(collectives, group);
    let rhythm = signature::rhythm(&timeline, group).or_else(|| load::rhythm(&timeline));
    rhythm.map(|rhythm| number(&timeline, &rhythm)).unwrap_or_default()
}

fn number(timeline: &Timeline, rhythm: &Rhythm) -> Vec<Iteration> {
    let usual = Usual::new(timeline, &rhythm.pieces);
    let mut is_taken = vec![false; timeline.slots.len()];
    for at in rhythm.pieces.iter().flat_map(|piece| &piece.slots) {
        is_taken[*at] = true;
    }
    let mut found: Vec<Iteration> = Vec::new();
    for (number, piece) in (0..).zip(&rhythm.pieces) {
        let next = rhythm.pieces.get(number as usize + 1);
        let goes_on = |next: &&Piece| next.is_adjacent && !usual.is_pause_before(timeline, next);
        let next = next.filter(goes_on).and_then(|next| next.slots.first().copied());
        let slots = with_others(timeline, &usual, piece, next, &mut is_taken);
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else { continue };
        let own_last = slots.iter().map(|at| timeline.slots[*at].span.last).max();
        let first = timeline.slots[*first].span.first;
        let own_last = own_last.unwrap_or(first);
        let last = match (next, timeline.slots.get(last + 1)) {
            (Some(next), _) => timeline.slots[next].span.first,
            (None, None) => own_last,
            (None, Some(after)) => {
                own_last.plus_nanos(usual.silence_ns).min(after.span.first.max(own_last))
            }
        };
        let span = Span { first, last };
        found.push(Iteration {
            number,
            label: None,
            communicator: rhythm.communicator,
            span,
            collectives: slots.iter().map(|at| timeline.slots[*at].at).collect(),
            communication_ns: timeline.busy_ns(span),
            is_whole: piece.is_whole,
            grade: Grade::Inferred,
        });
    }
    found
}

/// Usual gaps between training steps of a job.
struct Usual {
    length_ns: u64,
    silence_ns: u64,
}

impl Usual {
    fn new(timeline: &Timeline, pieces: &[Piece]) -> Self {
        let start = |piece: &Piece| Some(timeline.slots.get(*piece.slots.first()?)?.span.first);
        let adjacent = || pieces.windows(2).filter(|pair| pair[1].is_adjacent);
        let length = |pair: &[Piece]| Some(start(&pair[1])?.nanos_since(start(&pair[0])?));
        Self {
            length_ns: lower_median(adjacent().filter_map(length)).unwrap_or(0),
            silence_ns: lower_median(adjacent().map(|pair| pair[1].silence_ns(timeline)))
                .unwrap_or(0),
        }
    }

    fn is_pause_before(&self, timeline: &Timeline, piece: &Piece) -> bool {
        let limit = self.length_ns.saturating_mul(PAUSE_LENGTHS);
        piece.silence_ns(timeline) > limit.saturating_add(self.silence_ns)
    }
}

/// Indices of a training step's collectives, including those of the job's other communicators: all
/// that begin before the next step or, if none follows at once, before the next long silence.
fn with_others(
    timeline: &Timeline,
    usual: &Usual,
    piece: &Piece,
    next: Option<usize>,
    is_taken: &mut [bool],
) -> Vec<usize> {
    let (Some(first), Some(last)) = (piece.slots.first(), piece.slots.last()) else {
        return Vec::new();
    };
    let end = next.unwrap_or_else(|| {
        let rest = timeline.slots.iter().zip(is_taken.iter()).skip(last + 1);
        let of_others = rest.take_while(|(slot, is_taken)| {
            !**is_taken && slot.silence_ns <= usual.silence_ns / TRAILING_SILENCE_PARTS
        });
        let leader = timeline.slots[*first].communicator;
        last + 1 + of_others.take_while(|(slot, _)| slot.communicator != leader).count()
    });
    let mut slots = piece.slots.clone();
    for (at, is_taken) in is_taken.iter_mut().enumerate().take(end).skip(*first) {
        if !std::mem::replace(is_taken, true) {
            slots.push(at);
        }
    }
    slots.sort_unstable();
    slots
}
