//! One figure of the score, as the table shows it, and when it is worse than another.

use std::fmt;
use std::str::FromStr;

/// Times and shares of noise may grow by this much before they count as worse: a tenth, and
/// [`MARGIN_US`].
const MARGIN: f64 = 1.1;
const MARGIN_US: i64 = 10;

/// A figure and the head of its column.
pub(super) type Column = (&'static str, Cell);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Nothing to score.
    Empty,
    /// Not judged.
    Text(String),
    /// How many items of the truth are right, and how many reported ones are wrong; a missing item is
    /// neither.
    Tally(Tally),
    /// How many; fewer are better.
    Faults(u64),
    /// Median and largest difference, in microseconds; smaller is better.
    Differences { median_us: i64, max_us: i64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) right: u64,
    pub(super) wrong: u64,
    pub(super) of: u64,
}

impl Cell {
    /// From differences in nanoseconds.
    pub(super) fn differences(mut differences_ns: Vec<i64>) -> Self {
        differences_ns.sort_unstable();
        let middle = differences_ns.len().saturating_sub(1) / 2;
        match (differences_ns.get(middle), differences_ns.last()) {
            (Some(median), Some(max)) => {
                Self::Differences { median_us: median / 1000, max_us: max / 1000 }
            }
            _ => Self::Empty,
        }
    }

    /// Whether everything was found and nothing wrong reported.
    pub(super) fn is_perfect(&self) -> bool {
        match self {
            Self::Empty | Self::Text(_) | Self::Differences { .. } => true,
            Self::Tally(Tally { right, wrong, of }) => right == of && *wrong == 0,
            Self::Faults(faults) => *faults == 0,
        }
    }

    /// Whether this is worse than `before`. A figure that is no longer scored is worse than any score.
    pub(super) fn is_worse_than(&self, before: &Self) -> bool {
        match (self, before) {
            (_, Self::Empty | Self::Text(_)) => false,
            (Self::Tally(now), Self::Tally(before)) => {
                now.right < before.right || now.wrong > before.wrong || now.of < before.of
            }
            (Self::Faults(now), Self::Faults(before)) => now > before,
            (
                Self::Differences { median_us, max_us },
                Self::Differences { median_us: median_before, max_us: max_before },
            ) => is_longer(*median_us, *median_before) || is_longer(*max_us, *max_before),
            _ => true,
        }
    }

    /// The sum of both, if they can be added.
    pub(super) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Empty, other) if !matches!(other, Self::Text(_)) => *self = other.clone(),
            (Self::Tally(sum), Self::Tally(tally)) => {
                sum.right += tally.right;
                sum.wrong += tally.wrong;
                sum.of += tally.of;
            }
            (Self::Faults(sum), Self::Faults(faults)) => *sum += faults,
            (
                Self::Differences { median_us, max_us },
                Self::Differences { median_us: other_median, max_us: other_max },
            ) => {
                *median_us = (*median_us).max(*other_median);
                *max_us = (*max_us).max(*other_max);
            }
            _ => {}
        }
    }
}

fn is_longer(now_us: i64, before_us: i64) -> bool {
    now_us > before_us + MARGIN_US && now_us as f64 > before_us as f64 * MARGIN
}

impl Tally {
    /// Counts one item of the truth; `None` if the report has nothing about it.
    pub(super) fn count(&mut self, is_right: Option<bool>) {
        self.of += 1;
        match is_right {
            Some(true) => self.right += 1,
            Some(false) => self.wrong += 1,
            None => {}
        }
    }
}

impl From<Tally> for Cell {
    fn from(tally: Tally) -> Self {
        if tally == Tally::default() { Self::Empty } else { Self::Tally(tally) }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.pad("-"),
            Self::Text(text) => f.pad(text),
            Self::Tally(Tally { right, wrong: 0, of }) => f.pad(&format!("{right}/{of}")),
            Self::Tally(Tally { right, wrong, of }) => f.pad(&format!("{right}/{of} !{wrong}")),
            Self::Faults(faults) => f.pad(&faults.to_string()),
            Self::Differences { median_us, max_us } => f.pad(&format!("{median_us} < {max_us}")),
        }
    }
}

/// What was displayed.
impl FromStr for Cell {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok();
        let tally = || {
            let (share, wrong) = text.split_once(" !").unwrap_or((text, "0"));
            let (right, of) = share.split_once('/')?;
            Some(Self::Tally(Tally {
                right: number(right)?,
                wrong: number(wrong)?,
                of: number(of)?,
            }))
        };
        let differences = || {
            let (median, max) = text.split_once(" < ")?;
            Some(Self::Differences { median_us: median.parse().ok()?, max_us: max.parse().ok()? })
        };
        if text == "-" {
            return Ok(Self::Empty);
        }
        let faults = || number(text).map(Self::Faults);
        let cell = tally().or_else(differences).or_else(faults);
        Ok(cell.unwrap_or_else(|| Self::Text(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Tally};

    fn cell(text: &str) -> Cell {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for text in ["-", "3/4", "3/4 !1", "7", "12 < 3400", "2.27.5"] {
            assert_eq!(cell(text).to_string(), text);
        }
        assert_eq!(cell("3/4 !1"), Cell::Tally(Tally { right: 3, wrong: 1, of: 4 }));
        assert_eq!(cell("-5 < 10"), Cell::Differences { median_us: -5, max_us: 10 });
    }

    #[test]
    fn worse_is_less_right_or_more_wrong() {
        let is_worse = |now: &str, before: &str| cell(now).is_worse_than(&cell(before));
        assert!(is_worse("3/4", "4/4") && is_worse("4/4 !1", "4/4") && is_worse("-", "0/4"));
        assert!(!is_worse("4/4", "3/4 !1") && !is_worse("0/4", "-") && !is_worse("x", "y"));
        assert!(is_worse("2", "1") && !is_worse("1", "2"));
        assert!(is_worse("50 < 900", "20 < 900") && !is_worse("25 < 990", "20 < 900"));
    }
}
