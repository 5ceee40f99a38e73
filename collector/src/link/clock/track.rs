//! How far one clock is ahead of another, over time: one straight line, or a few where it was set.

use super::channel::{Bound, Channel, Fit, Line};
use super::sighting::Pair;
use super::upstream::Upstream;
use crate::model::time::Timestamp;

/// Taken off either side of every bound: the rounding of stamps in microseconds.
const STAMP_ERROR_NS: i64 = 1_000;

/// Clocks that are set more often than this while a capture runs are not followed.
const PIECE_LIMIT: usize = 8;

/// Times are told apart to this share of the capture; of each, the tightest bounds are kept.
const BUCKETS: i64 = 8_192;

/// Offsets that packets in one direction suggest are believed from here on: no path is that long.
const ONE_WAY_LIMIT_NS: f64 = 1e6;

/// Times and offsets beyond are none that a capture can have: 73 years.
const FARTHEST: i64 = 1 << 61;

/// Why it is not known how far a clock is ahead, or how well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUnknown {
    /// No packet was seen both here and at a tap that the reference is known at.
    NoCommonPackets,
    /// Packets were seen in one direction only: the offset is known up to their shortest delay.
    OneWay,
    /// It cannot be told which tap packets passed first.
    UnknownDirection,
    /// Stamps fit no clock that runs evenly and is set now and then.
    NoLineFits,
}

/// A stretch of a clock's time in which it ran evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Its start, by the clock itself; the first one holds before as well.
    pub start: Timestamp,
    /// How far the clock was ahead then.
    pub ahead_ns: i64,
    /// Nanoseconds more per nanosecond.
    pub drift: f64,
}

/// How far one clock is ahead of another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// In the order of time; empty: not at all.
    pub pieces: Vec<Piece>,
    /// It is no farther from the truth; `None` where only the delay of packets one way is known.
    pub uncertainty_ns: Option<u64>,
    /// The drift is no farther from the truth; `None` likewise.
    pub drift_uncertainty: Option<f64>,
}

impl Piece {
    /// How far the clock is ahead when it shows `time`.
    #[must_use]
    pub fn ahead_at(&self, time: Timestamp) -> i64 {
        let gained = self.drift * time.relative_to(self.start) as f64;
        self.ahead_ns.saturating_add(gained.round() as i64)
    }
}

impl Track {
    /// How far the clock is ahead when it shows `time`.
    #[must_use]
    pub fn ahead_at(&self, time: Timestamp) -> i64 {
        self.piece_at(time).map_or(0, |piece| piece.ahead_at(time))
    }

    /// How fast it gains then, in nanoseconds per nanosecond.
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
        time.minus_nanos(self.ahead_at(time))
    }

    /// How far the clock of the tap `which` of two (0 or 1) is ahead of the other's. Pairs are in the
    /// order of the first tap's time.
    ///
    /// # Errors
    ///
    /// Why it cannot be told.
    pub fn find(pairs: &[Pair], upstream: &Upstream, which: usize) -> Result<Self, WhyUnknown> {
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
        if let Some(track) = same_clock(&bounds, origin_ahead) {
            return Ok(track);
        }
        let mut track =
            Self { uncertainty_ns: Some(0), drift_uncertainty: Some(0.0), ..Self::default() };
        for (start, fit) in pieces(&bounds).ok_or(WhyUnknown::NoLineFits)? {
            track.add(origin, origin_ahead, start, &fit);
        }
        let is_far = |piece: &Piece| piece.ahead_ns.unsigned_abs() as f64 >= ONE_WAY_LIMIT_NS;
        if track.uncertainty_ns.is_none() && !track.pieces.iter().any(is_far) {
            track.pieces.clear();
        }
        Ok(track)
    }

    fn add(&mut self, origin: Timestamp, origin_ahead: i64, start: i64, fit: &Fit) {
        let Line { ahead_ns, drift } = fit.line;
        let ahead = (ahead_ns + drift * start as f64).round() as i64;
        self.pieces.push(Piece {
            start: origin.plus_nanos(start.unsigned_abs()),
            ahead_ns: origin_ahead.saturating_add(ahead),
            drift,
        });
        let wider = |(known, new): (f64, f64)| known.max(new);
        let uncertainty = fit.uncertainty_ns.map(|uncertainty| uncertainty.ceil() as u64);
        self.uncertainty_ns =
            self.uncertainty_ns.zip(uncertainty).map(|(one, other)| one.max(other));
        self.drift_uncertainty = self.drift_uncertainty.zip(fit.drift_uncertainty).map(wider);
    }
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

/// No difference, where none of `bounds`, which count from `origin_ahead`, contradicts that.
fn same_clock(bounds: &[Bound], origin_ahead: i64) -> Option<Track> {
    let of_kind = |is_upper: bool| bounds.iter().filter(move |bound| bound.is_upper == is_upper);
    let total = |bound: &Bound| bound.ahead.saturating_add(origin_ahead);
    let most = of_kind(true).map(total).min()?;
    let least = of_kind(false).map(total).max()?;
    (least <= 0 && most >= 0).then(|| Track {
        pieces: Vec::new(),
        uncertainty_ns: Some(most.max(-least).unsigned_abs()),
        drift_uncertainty: Channel::of(bounds).fit().and_then(|fit| fit.drift_uncertainty),
    })
}

/// The fewest stretches whose bounds lines fit, with their starts; `None` if they are too many.
fn pieces(mut bounds: &[Bound]) -> Option<Vec<(i64, Fit)>> {
    let mut pieces = Vec::new();
    while let Some(first) = bounds.first() {
        if pieces.len() == PIECE_LIMIT {
            return None;
        }
        let length = fitting_length(bounds);
        let (fitting, rest) = bounds.split_at_checked(length)?;
        pieces.push((first.time, Channel::of(fitting).fit()?));
        bounds = rest;
    }
    Some(pieces)
}

/// How many bounds from the start a line fits. More never fit where fewer do not.
fn fitting_length(bounds: &[Bound]) -> usize {
    let fits =
        |length: &usize| bounds.get(..*length).is_some_and(|some| Channel::of(some).is_open());
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
