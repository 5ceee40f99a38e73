//! The channel between two hulls: every straight line that no packet contradicts.
//!
//! A packet arrives after it left. If it comes from the other clock's tap, the difference of its
//! two stamps is an upper bound on how far this clock is ahead; if it goes there, a lower bound. A
//! clock that runs evenly is a straight line between all bounds (Moon, Skelly, Towsley, "Estimation
//! and removal of clock skew from network delay measurements", INFOCOM 1999; Zhang, Liu, Xia,
//! "Clock synchronization algorithms for network measurements", INFOCOM 2002). Queues only widen
//! the channel: it is determined by the packets that waited least.

use super::hull::{Hull, Point};

/// Largest drift of a clock: crystals deviate by 100 parts per million, and the kernel's slewing
/// (`adjtime`, ntpd) adds up to 500.
pub const DRIFT_LIMIT: f64 = 600e-6;

/// A nonzero drift must widen the channel by this factor to be believed.
const DRIFT_GAIN: f64 = 2.0;

/// Halvings in the search for the ends of a range.
const HALVINGS: u32 = 48;

/// A packet's bound on the offset between two clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Time by the clock itself.
    pub time: i64,
    /// The bound.
    pub ahead: i64,
    /// Whether it is an upper bound; else a lower one.
    pub is_upper: bool,
}

/// The offset of a clock as a straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// Offset at time 0, in nanoseconds.
    pub ahead_ns: f64,
    /// Change of the offset per nanosecond.
    pub drift: f64,
}

impl Line {
    /// The offset at `time`.
    #[must_use]
    pub fn at(self, time: f64) -> f64 {
        self.ahead_ns + self.drift * time
    }

    /// Whether the bound allows it.
    #[must_use]
    pub fn satisfies(self, bound: &Bound) -> bool {
        let excess = self.at(bound.time as f64) - bound.ahead as f64;
        if bound.is_upper { excess <= 0.0 } else { excess >= 0.0 }
    }
}

/// Uncertainty of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// Largest distance to another line within the bounds, in nanoseconds.
    pub ahead_ns: f64,
    /// Largest difference in drift to another line within the bounds.
    pub drift: f64,
}

/// The bounds of a period.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// Upper bounds.
    upper: Hull,
    /// Lower bounds, negated.
    lower: Hull,
    /// First and last time.
    ends: Option<(i64, i64)>,
}

impl Channel {
    /// The channel of `bounds`, which are in order of time.
    #[must_use]
    pub fn from_bounds(bounds: &[Bound]) -> Self {
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

    /// How far lines of this drift can be shifted; negative if none fits.
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

    /// The drift with the widest channel. The width is a concave function of the drift with bends
    /// at the slopes of the hulls' edges.
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

    /// The line in the middle of the widest channel, without drift if that is nearly as wide; with
    /// bounds on one side only, the line on them. `None` if no line fits.
    #[must_use]
    pub fn line(&self) -> Option<Line> {
        let (start, end) = self.ends?;
        if self.is_one_sided() {
            return Some(self.one_sided(i64::midpoint(start, end)));
        }
        let widest = self.widest();
        let width = self.width(widest);
        if width < 0.0 {
            return None;
        }
        let drift = if self.width(0.0) * DRIFT_GAIN >= width { 0.0 } else { widest };
        let ahead_ns = f64::midpoint(self.ceiling(drift), self.floor(drift));
        Some(Line { ahead_ns, drift })
    }

    /// Uncertainty of `line`, which fits, from `start` to `end`; `None` with bounds on one side
    /// only. The distance is largest at an end.
    #[must_use]
    pub fn doubt(&self, line: Line, (start, end): (i64, i64)) -> Option<Doubt> {
        if self.is_one_sided() {
            return None;
        }
        let least = self.last_open(line.drift, -DRIFT_LIMIT);
        let most = self.last_open(line.drift, DRIFT_LIMIT);
        let [start, end] = [start, end].map(|time| time as f64);
        let mut ahead_ns: f64 = 0.0;
        for (time, drift) in [(start, least), (start, most), (end, least), (end, most)] {
            let highest = self.ceiling(drift) + drift * time;
            let lowest = self.floor(drift) + drift * time;
            ahead_ns = ahead_ns.max(highest - line.at(time)).max(line.at(time) - lowest);
        }
        Some(Doubt { ahead_ns, drift: (most - line.drift).max(line.drift - least) })
    }

    const fn is_one_sided(&self) -> bool {
        self.upper.is_empty() || self.lower.is_empty()
    }

    /// The drift farthest from `open` towards `limit` for which a line fits.
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

    /// With bounds on one side: the line on the hull's edge over `time`.
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
