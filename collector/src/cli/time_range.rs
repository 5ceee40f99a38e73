//! `--since` and `--until`: select a part of the input, by time after its first frame or by date.

use std::fmt;
use std::time::Duration;

use clap::Args;

use crate::units;
use railscope_core::model::time::Timestamp;

/// The options, as typed.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Time")]
pub(super) struct TimeRangeArgs {
    /// Skip frames before this time: 1.5s or 200ms after the first frame, or a date with time zone;
    /// compared with the timestamps in the files, before clock correction
    #[arg(long, value_name = "TIME", value_parser = parse)]
    since: Option<Moment>,
    /// Skip frames after this time
    #[arg(long, value_name = "TIME", value_parser = parse)]
    until: Option<Moment>,
}

/// A time, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Nanoseconds after the first frame.
    AfterStart(u64),
    At(Timestamp),
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterStart(nanos) => write!(f, "{}s", *nanos as f64 / 1e9),
            Self::At(time) => match jiff::Timestamp::from_nanosecond(time.as_nanos().into()) {
                Ok(date) => write!(f, "{date}"),
                Err(_) => write!(f, "{time}"),
            },
        }
    }
}

/// A range of time, once the first frame is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeRange {
    since: Timestamp,
    until: Timestamp,
}

impl TimeRangeArgs {
    /// The range that `option_of` of a bundle sets if none was given.
    pub(super) fn complete(&mut self, option_of: impl Fn(&str) -> Option<String>) {
        if self.since.is_none() && self.until.is_none() {
            self.since = option_of("since").and_then(|text| parse(&text).ok());
            self.until = option_of("until").and_then(|text| parse(&text).ok());
        }
    }

    /// The given times, to be listed in the report.
    pub(super) fn options(&self) -> impl Iterator<Item = (String, String)> {
        let given = [("since", self.since), ("until", self.until)];
        given.into_iter().filter_map(|(name, moment)| Some((name.to_owned(), moment?.to_string())))
    }

    /// Whether it depends on when the first frame came.
    pub(super) fn is_relative(&self) -> bool {
        let times = [self.since, self.until].into_iter().flatten();
        times.into_iter().any(|moment| matches!(moment, Moment::AfterStart(_)))
    }

    /// Refuses an empty range, if that is known before the input is read.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let is_empty = match (self.since, self.until) {
            (Some(Moment::AfterStart(since)), Some(Moment::AfterStart(until))) => since > until,
            (Some(Moment::At(since)), Some(Moment::At(until))) => since > until,
            _ => false,
        };
        anyhow::ensure!(!is_empty, "--since is after --until: swap them, or drop one");
        Ok(())
    }

    /// The range in an input that starts at `first`.
    pub(super) fn resolve(&self, first: Timestamp) -> TimeRange {
        let resolve = |moment| match moment {
            Moment::AfterStart(nanos) => first.plus_nanos(nanos),
            Moment::At(time) => time,
        };
        TimeRange {
            since: self.since.map_or(Timestamp::EPOCH, resolve),
            until: self.until.map_or(Timestamp::MAX, resolve),
        }
    }
}

impl TimeRange {
    /// Whether `time` is in the range; both ends are.
    pub(super) fn contains(&self, time: Timestamp) -> bool {
        (self.since..=self.until).contains(&time)
    }

    /// The time in the range that is nearest to `time`.
    pub(super) fn clamp(&self, time: Timestamp) -> Timestamp {
        time.max(self.since).min(self.until)
    }
}

/// The warning that no frame of an input from `first` to `last` is in the range.
pub(super) fn outside(first: Timestamp, last: Timestamp) -> String {
    let seconds = last.nanos_since(first) as f64 / 1e9;
    let (first, last) = (Moment::At(first), Moment::At(last));
    format!(
        "no frame is between --since and --until: the input covers {first} to {last} \
         ({seconds} s)"
    )
}

fn parse(text: &str) -> Result<Moment, String> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        let nanos = u64::try_from(at.as_nanosecond());
        return nanos
            .map(|nanos| Moment::At(Timestamp::from_nanos(nanos)))
            .map_err(|_| format!("`{text}` is out of range: dates go from 1970 to 2554"));
    }
    // A number alone is seconds.
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let after = match seconds {
        Some(time) => time,
        None => units::duration(text).map_err(|_| {
            format!("`{text}` is not a time; write 1.5s, 200ms, 3min, or 2026-11-20T16:30:00Z")
        })?,
    };
    Ok(Moment::AfterStart(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_after_the_start_and_dates() {
        assert_eq!(parse("1.5s"), Ok(Moment::AfterStart(1_500_000_000)));
        assert_eq!(parse("200ms"), Ok(Moment::AfterStart(200_000_000)));
        assert_eq!(parse("2.5"), Ok(Moment::AfterStart(2_500_000_000)));
        assert_eq!(parse("0.5h"), Ok(Moment::AfterStart(1_800_000_000_000)));
        assert_eq!(parse("0"), Ok(Moment::AfterStart(0)));
        let date = Moment::At(Timestamp::from_nanos(1_000_000_000));
        assert_eq!(parse("1970-01-01T00:00:01Z"), Ok(date));
        assert_eq!(parse("1970-01-01T01:00:01+01:00"), Ok(date));
        for wrong in ["", "soon", "1x", "-1", "nan", "2026-11-20", "1969-12-31T23:59:59Z"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_holds_both_of_its_ends() {
        let args = TimeRangeArgs { since: parse("1s").ok(), until: parse("2s").ok() };
        let range = args.resolve(Timestamp::from_nanos(5));
        let inside = |nanos| range.contains(Timestamp::from_nanos(nanos));
        assert!(inside(1_000_000_005) && inside(2_000_000_005));
        assert!(!inside(1_000_000_004) && !inside(2_000_000_006));
    }
}
