//! The offset of one clock from another over time: one straight line, or several if it was set.

use super::channel::{Bound, Channel, Doubt, Line};
use super::sighting::Pair;
use super::upstream::Upstream;
use crate::model::time::{Span, Timestamp};

/// Margin on each bound: the rounding of microsecond stamps.
const STAMP_ERROR_NS: i64 = 1_000;

/// Clocks that are set more often than this during a capture are not tracked.
const PIECE_LIMIT: usize = 8;

/// Time resolution, as a share of the capture; the tightest bounds of each bucket are kept.
const BUCKETS: i64 = 8_192;

/// Offsets of this size are believed even from packets in one direction: no path is that long.
const ONE_WAY_LIMIT_NS: u64 = 1_000_000;

/// Times and offsets beyond 73 years cannot occur in a capture.
const FARTHEST: i64 = 1 << 61;

/// Why a clock's offset is unknown or uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUnknown {
    /// No packet was seen here and at another tap.
    NoCommonPackets,
    /// Only a common machine next to both taps relates it to the reference.
    SameMachine,
    /// Packets were seen in one direction only: the offset is known up to their shortest delay.
    OneWay,
    /// Which tap packets passed first is unknown.
    UnknownDirection,
    /// The stamps fit no clock that runs evenly and is set now and then.
    NoLineFits,
}

/// A period in which a clock ran evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Its start, by the clock itself; the first piece also holds before it.
    pub start: Timestamp,
    /// The offset at the start.
    pub ahead_ns: i64,
    /// Change of the offset per nanosecond.
    pub drift: f64,
}

/// The offset of one clock from another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// In order of time; empty: no offset.
    pub pieces: Vec<Piece>,
    /// Largest error while the tap saw frames; `None` if only the one-way delay of packets is
    /// known.
    pub uncertainty_ns: Option<u64>,
    /// Largest error of the drift; `None` likewise.
    pub drift_uncertainty: Option<f64>,
}

impl Piece {
    /// The offset when the clock shows `time`.
    #[must_use]
    pub fn ahead_at(&self, time: Timestamp) -> i64 {
        let gained = self.drift * time.relative_to(self.start) as f64;
        self.ahead_ns.saturating_add(gained.round() as i64)
    }
}

impl Track {
    /// Whether both clocks are one.
    #[must_use]
    pub fn same() -> Self {
        Self { uncertainty_ns: Some(0), drift_uncertainty: Some(0.0), ..Self::default() }
    }

    /// The offset when the clock shows `time`.
    #[must_use]
    pub fn ahead_at(&self, time: Timestamp) -> i64 {
        self.piece_at(time).map_or(0, |piece| piece.ahead_at(time))
    }

    /// The drift at that time, in nanoseconds per nanosecond.
    #[must_use]
    pub fn drift_at(&self, time: Timestamp) -> f64 {
        self.piece_at(time).map_or(0.0, |piece| piece.drift)
    }

    fn piece_at(&self, time: Timestamp) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.start <= time);
        self.pieces.get(after.saturating_sub(1))
    }

    /// What the other clock shows when this one shows `time`.
    #[must_use]
    pub fn other_at(&self, time: Timestamp) -> Timestamp {
        time.plus(self.ahead_at(time).saturating_neg())
    }

    /// The offset from a third clock, given the other clock's offset `next` from it.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let here = |there: Timestamp| {
            let about = there.plus(self.ahead_at(there));
            there.plus(self.ahead_at(about))
        };
        // The first piece also holds before its start.
        let bends = next.pieces.iter().skip(usize::from(!self.pieces.is_empty()));
        let mut starts: Vec<Timestamp> = self.pieces.iter().map(|piece| piece.start).collect();
        starts.extend(bends.map(|piece| here(piece.start)));
        starts.sort_unstable();
        starts.dedup();
        let piece = |start| {
            let there = self.other_at(start);
            Piece {
                start,
                ahead_ns: self.ahead_at(start).saturating_add(next.ahead_at(there)),
                drift: 1.0 - (1.0 - self.drift_at(start)) * (1.0 - next.drift_at(there)),
            }
        };
        let uncertainties = self.uncertainty_ns.zip(next.uncertainty_ns);
        let drift_uncertainties = self.drift_uncertainty.zip(next.drift_uncertainty);
        Self {
            pieces: starts.into_iter().map(piece).collect(),
            uncertainty_ns: uncertainties.map(|(one, other)| one.saturating_add(other)),
            drift_uncertainty: drift_uncertainties.map(|(one, other)| one + other),
        }
    }

    /// The offset of the clock of tap `which` of two (0 or 1) from the other's, while the tap saw
    /// its `frames`.
    ///
    /// # Errors
    ///
    /// Why it is unknown.
    pub fn between(
        pairs: &[Pair],
        upstream: &Upstream,
        which: usize,
        frames: Span,
    ) -> Result<Self, WhyUnknown> {
        let own =
            |pair: &Pair| if which == 0 { pair.times } else { [pair.times[1], pair.times[0]] };
        let oriented = pairs.iter().filter_map(|pair| {
            let is_first_upstream = *upstream.get(&pair.way.route)? == pair.way.is_upward;
            let [here, there] = own(pair);
            Some((here, there, is_first_upstream == (which == 1)))
        });
        let mut comparisons: Vec<_> = oriented.collect();
        comparisons.sort_unstable();
        let Some((origin, other, _)) = comparisons.first().copied() else {
            return Err(WhyUnknown::UnknownDirection);
        };
        let origin_ahead = origin.relative_to(other);
        let bounds = comparisons.into_iter().filter_map(|(here, there, is_upper)| {
            let slack = if is_upper { STAMP_ERROR_NS } else { -STAMP_ERROR_NS };
            let ahead = here.relative_to(there).checked_sub(origin_ahead)?.checked_add(slack)?;
            let time = here.relative_to(origin);
            let is_near = time < FARTHEST && ahead.abs() < FARTHEST;
            is_near.then_some(Bound { time, ahead, is_upper })
        });
        let bounds = thinned(bounds.collect());
        let frames = [frames.first, frames.last].map(|time| time.relative_to(origin));
        if let Some(track) = same_clock(&bounds, origin_ahead, frames) {
            return Ok(track);
        }
        let fitting = pieces(&bounds, frames).ok_or(WhyUnknown::NoLineFits)?;
        let doubt = fitting.iter().map(|piece| piece.doubt).reduce(greater).flatten();
        let pieces = fitting.iter().map(|FittingPiece { start, line, .. }| {
            let ahead = (line.ahead_ns + line.drift * *start as f64).round() as i64;
            let ahead_ns = origin_ahead.saturating_add(ahead);
            Piece { start: origin.plus(*start), ahead_ns, drift: line.drift }
        });
        let mut pieces: Vec<Piece> = pieces.collect();
        let is_far = |piece: &Piece| piece.ahead_ns.unsigned_abs() >= ONE_WAY_LIMIT_NS;
        if doubt.is_none() && !pieces.iter().any(is_far) {
            pieces.clear();
        }
        Ok(Self::new(pieces, doubt))
    }

    fn new(pieces: Vec<Piece>, doubt: Option<Doubt>) -> Self {
        Self {
            pieces,
            uncertainty_ns: doubt.map(|doubt| doubt.ahead_ns.ceil() as u64),
            drift_uncertainty: doubt.map(|doubt| doubt.drift),
        }
    }
}

/// Bounds that a line fits.
struct FittingPiece {
    /// Time of its first bound.
    start: i64,
    line: Line,
    doubt: Option<Doubt>,
}

fn greater(one: Option<Doubt>, other: Option<Doubt>) -> Option<Doubt> {
    one.zip(other).map(|(one, other)| Doubt {
        ahead_ns: one.ahead_ns.max(other.ahead_ns),
        drift: one.drift.max(other.drift),
    })
}

/// The tightest bounds of each bucket of time, where there are many.
fn thinned(mut bounds: Vec<Bound>) -> Vec<Bound> {
    let span = bounds.last().map_or(0, |last| last.time);
    let width = span / BUCKETS + 1;
    // Lower bounds come first, the highest one leading; upper bounds next, the lowest one leading.
    let bucket = |bound: &Bound| (bound.time / width, bound.is_upper);
    let tightness = |bound: &Bound| if bound.is_upper { bound.ahead } else { -bound.ahead };
    bounds.sort_unstable_by_key(|bound| (bucket(bound), tightness(bound), bound.time));
    bounds.dedup_by_key(|bound| bucket(bound));
    bounds.sort_unstable_by_key(|bound| (bound.time, bound.is_upper));
    bounds
}

/// No offset, if none of `bounds`, which are relative to `origin_ahead`, contradicts that.
fn same_clock(bounds: &[Bound], origin_ahead: i64, frames: [i64; 2]) -> Option<Track> {
    let allows = |bound: &Bound| {
        let ahead = bound.ahead.saturating_add(origin_ahead);
        if bound.is_upper { ahead >= 0 } else { ahead <= 0 }
    };
    if !bounds.iter().all(allows) {
        return None;
    }
    let line = Line { ahead_ns: -(origin_ahead as f64), drift: 0.0 };
    let doubt = Channel::from_bounds(bounds).doubt(line, frames.into())?;
    Some(Track::new(Vec::new(), Some(doubt)))
}

/// The fewest pieces that fit the bounds; `None` if there are too many. `frames` are the times of
/// the tap's first and last frame.
fn pieces(bounds: &[Bound], frames: [i64; 2]) -> Option<Vec<FittingPiece>> {
    let [first, last] = frames;
    let mut pieces: Vec<FittingPiece> = Vec::new();
    let (mut before, mut rest): (&[Bound], _) = (&[], bounds);
    while !rest.is_empty() {
        if pieces.len() == PIECE_LIMIT {
            return None;
        }
        let (fitting, after) = rest.split_at_checked(fitting_length(rest))?;
        let channel = Channel::from_bounds(fitting);
        let line = channel.line()?;
        let contradiction = fitting.first()?;
        // Earlier bounds of the same kind belong to the previous line, which they do not
        // contradict; later ones of the other kind may belong to this one already.
        let is_of_this =
            |bound: &&Bound| bound.is_upper != contradiction.is_upper && line.satisfies(bound);
        let early = before.iter().rev().take_while(is_of_this).last();
        let start = early.unwrap_or(contradiction).time;
        let from = if pieces.is_empty() { first } else { start };
        let until = after.first().map_or(last, |next| next.time);
        pieces.push(FittingPiece { start, line, doubt: channel.doubt(line, (from, until)) });
        (before, rest) = (fitting, after);
    }
    Some(pieces)
}

/// The number of bounds from the start that a line fits. If it does not fit these, it does not fit
/// more.
fn fitting_length(bounds: &[Bound]) -> usize {
    let fits = |length: &usize| {
        bounds.get(..*length).is_some_and(|some| Channel::from_bounds(some).is_open())
    };
    if fits(&bounds.len()) {
        return bounds.len();
    }
    let (mut fitting, mut failing) = (1, bounds.len());
    while failing - fitting > 1 {
        let middle = usize::midpoint(fitting, failing);
        *(if fits(&middle) { &mut fitting } else { &mut failing }) = middle;
    }
    fitting
}

#[cfg(test)]
mod tests;
