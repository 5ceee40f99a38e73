//! The channel between two hulls: every straight line that no packet contradicts.
//!
//! A packet that comes from the other clock's tap arrives after it left, so that this clock is at
//! most so far ahead as the packet's two stamps differ: an upper bound. One that goes there gives a
//! lower bound. A clock that runs evenly is a straight line between all bounds (Moon, Skelly, Towsley,
//! "Estimation and removal of clock skew from network delay measurements", INFOCOM 1999; Zhang, Liu,
//! Xia, "Clock synchronization algorithms for network measurements", INFOCOM 2002). Queues only widen
//! the channel: the packets that waited least make it.

use super::hull::{Hull, Point};

/// Clocks run wrong by at most this much: crystals by 100 parts per million, and the kernel's slewing
/// (`adjtime`, ntpd) adds up to 500.
pub const DRIFT_LIMIT: f64 = 600e-6;

/// A drift that is not zero must make the channel wider by this factor to be believed.
const DRIFT_GAIN: f64 = 2.0;

/// Halvings in the search for the ends of a range.
const HALVINGS: u32 = 48;

/// What a packet says of how far a clock is ahead of another, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// When, by the clock itself.
    pub time: i64,
    /// So far.
    pub ahead: i64,
    /// It is at most so far ahead; else it is at least so far.
    pub is_upper: bool,
}

/// A straight line: how far a clock is ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// At time 0, in nanoseconds.
    pub ahead_ns: f64,
    /// Nanoseconds more per nanosecond.
    pub drift: f64,
}

/// A line and how far it may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The line.
    pub line: Line,
    /// No line that the bounds allow is farther away at any of their times; `None` where they bound
    /// from one side only.
    pub uncertainty_ns: Option<f64>,
    /// No line that the bounds allow drifts otherwise by more.
    pub drift_uncertainty: Option<f64>,
}

/// The bounds of some time.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// Upper bounds.
    upper: Hull,
    /// Lower bounds, upside down.
    lower: Hull,
    /// First and last time of the bounds.
    ends: Option<(i64, i64)>,
}

impl Channel {
    /// The channel of `bounds`, which come in the order of time.
    #[must_use]
    pub fn of(bounds: &[Bound]) -> Self {
        let mut channel = Self::default();
        for Bound { time, ahead, is_upper } in bounds {
            let (hull, point): (_, Point) = match is_upper {
                true => (&mut channel.upper, (*time, *ahead)),
                false => (&mut channel.lower, (*time, ahead.saturating_neg())),
            };
            hull.push(point);
        }
        channel.ends =
            bounds.first().zip(bounds.last()).map(|(first, last)| (first.time, last.time));
        channel
    }

    /// Whether any line fits.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.width(self.widest()) >= 0.0
    }

    /// How far lines of this drift may be shifted; negative where none fits.
    fn width(&self, drift: f64) -> f64 {
        self.ceiling(drift) - self.floor(drift)
    }

    /// The highest line of this drift, at time 0.
    fn ceiling(&self, drift: f64) -> f64 {
        self.upper.support(drift)
    }

    /// The lowest line of this drift, at time 0.
    fn floor(&self, drift: f64) -> f64 {
        -self.lower.support(-drift)
    }

    /// The drift with the widest room. The width is a concave function of it that bends at the
    /// slopes of the hulls' edges.
    fn widest(&self) -> f64 {
        let mut drifts = vec![-DRIFT_LIMIT, 0.0, DRIFT_LIMIT];
        let slopes = self.upper.slopes().chain(self.lower.slopes().map(|slope| -slope));
        drifts.extend(slopes.filter(|slope| slope.abs() < DRIFT_LIMIT));
        drifts.sort_unstable_by(f64::total_cmp);
        drifts.dedup();
        let widths = |at: usize| (self.width(drifts[at]), self.width(drifts[at + 1]));
        let (mut low, mut high) = (0, drifts.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (here, next) = widths(middle);
            if here < next { low = middle + 1 } else { high = middle }
        }
        drifts[low]
    }

    /// The line in the middle of the widest room, without drift where that is nearly as wide; `None`
    /// where none fits.
    #[must_use]
    pub fn fit(&self) -> Option<Fit> {
        let (start, end) = self.ends?;
        if self.upper.is_empty() || self.lower.is_empty() {
            return Some(Fit {
                line: self.one_sided(i64::midpoint(start, end)),
                uncertainty_ns: None,
                drift_uncertainty: None,
            });
        }
        let widest = self.widest();
        let width = self.width(widest);
        if width < 0.0 {
            return None;
        }
        let drift = if self.width(0.0) * DRIFT_GAIN >= width { 0.0 } else { widest };
        let line = Line { ahead_ns: f64::midpoint(self.ceiling(drift), self.floor(drift)), drift };
        let (least, most) =
            (self.last_open(drift, -DRIFT_LIMIT), self.last_open(drift, DRIFT_LIMIT));
        Some(Fit {
            line,
            uncertainty_ns: Some(self.distance(line, (start, end), (least, most))),
            drift_uncertainty: Some((most - drift).max(drift - least)),
        })
    }

    /// How far the line may be wrong: the distance to the farthest line that fits, whose drift is
    /// between `least` and `most`, at the times from `start` to `end`. The farthest are at an end.
    fn distance(&self, line: Line, (start, end): (i64, i64), (least, most): (f64, f64)) -> f64 {
        let [start, end] = [start, end].map(|time| time as f64);
        let at = |time: f64| line.ahead_ns + line.drift * time;
        let above = [(start, least), (end, most)]
            .map(|(time, drift)| self.ceiling(drift) + drift * time - at(time));
        let below = [(start, most), (end, least)]
            .map(|(time, drift)| at(time) - self.floor(drift) - drift * time);
        above.into_iter().chain(below).fold(0.0, f64::max)
    }

    /// The drift farthest from `open`, towards `limit`, for which a line fits.
    fn last_open(&self, mut open: f64, mut limit: f64) -> f64 {
        if self.width(limit) >= 0.0 {
            return limit;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(open, limit);
            *(if self.width(middle) >= 0.0 { &mut open } else { &mut limit }) = middle;
        }
        open
    }

    /// With bounds on one side: the line that lies on the hull's edge over `time`.
    fn one_sided(&self, time: i64) -> Line {
        let sign = if self.upper.is_empty() { -1.0 } else { 1.0 };
        let hull = if self.upper.is_empty() { &self.lower } else { &self.upper };
        let slope = hull.slope_at(time).filter(|slope| slope.abs() <= DRIFT_LIMIT);
        let slope = slope.unwrap_or(0.0);
        Line { ahead_ns: sign * hull.support(slope), drift: sign * slope }
    }
}

#[cfg(test)]
mod tests;
