//! `--before-window`, `--after-window`: which part of a job is a side.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::units;
use railscope_core::compare::document::Document;
use railscope_core::compare::selection::Window;

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// A window, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WindowArg {
    text: String,
    since: Option<End>,
    until: Option<End>,
}

/// One end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nanoseconds after the first frame.
    AfterStart(i64),
    /// Nanoseconds since 1970.
    At(i64),
    /// Nanoseconds after midnight, UTC, of the day of the first frame, or of the next one.
    OfDay(i64),
}

impl fmt::Display for WindowArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(super) fn parse(text: &str) -> Result<WindowArg, String> {
    let (since, until) = text
        .split_once("..")
        .ok_or_else(|| format!("`{text}` has no `..`: write FROM..TO, such as 10s..70s"))?;
    let end = |text: &str| (!text.is_empty()).then(|| parse_end(text)).transpose();
    let (since, until) = (end(since)?, end(until)?);
    if since.is_none() && until.is_none() {
        return Err(format!("`{text}` has no end: write FROM..TO, such as 10s..70s"));
    }
    Ok(WindowArg { text: text.to_owned(), since, until })
}

fn parse_end(text: &str) -> Result<End, String> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        let nanos = i64::try_from(at.as_nanosecond()).ok().filter(|nanos| *nanos >= 0);
        return nanos.map(End::At).ok_or_else(|| format!("`{text}` is out of range"));
    }
    if let Ok(time) = text.parse::<jiff::civil::Time>().or_else(|error| {
        // A time of day without seconds.
        if text.matches(':').count() == 1 { [text, ":00"].concat().parse() } else { Err(error) }
    }) && text.contains(':')
    {
        let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60;
        let seconds = seconds + i64::from(time.second());
        return Ok(End::OfDay(seconds * 1_000_000_000 + i64::from(time.subsec_nanosecond())));
    }
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let after = seconds.map_or_else(|| units::duration(text), Ok);
    let nanos = after.ok().and_then(|after| i64::try_from(after.as_nanos()).ok());
    nanos.map(End::AfterStart).ok_or_else(|| {
        format!(
            "`{text}` is not a time; write 10s or 1.5m after the first frame, 10:00:00 (UTC), or \
             2026-11-20T10:00:00Z"
        )
    })
}

impl WindowArg {
    /// The window in a report.
    ///
    /// # Errors
    ///
    /// When it is empty, or needs a date that the report does not have.
    pub(super) fn resolve(&self, document: &Document) -> anyhow::Result<Window> {
        let origin = document.origin_ns().and_then(|origin| i64::try_from(origin).ok());
        let resolve = |end: End, least: i64| {
            let dated = || {
                origin.with_context(|| {
                    format!(
                        "window {self}: the report has no date; write times after its first frame"
                    )
                })
            };
            Ok::<i64, anyhow::Error>(match end {
                End::AfterStart(nanos) => nanos,
                End::At(nanos) => nanos.saturating_sub(dated()?),
                End::OfDay(nanos) => {
                    let origin = dated()?;
                    let after = nanos - origin % DAY_NS;
                    if after < least { after + DAY_NS } else { after }
                }
            })
        };
        // A job may begin just after the minute that was typed.
        let since = self.since.map_or(Ok(i64::MIN), |end| resolve(end, -DAY_NS / 2))?;
        let until = self.until.map_or(Ok(i64::MAX), |end| resolve(end, since.max(0)))?;
        ensure!(since < until, "window {self} is empty: its start is not before its end");
        Ok(Window { since_ns: since, until_ns: until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, origin: &str) -> Result<(i64, i64), String> {
        let report =
            format!(r#"{{"schema":"railscope.report/1","capture":{{"origin_ns":"{origin}"}}}}"#);
        let document = Document::parse(report.as_bytes()).unwrap();
        let window = parse(text)?.resolve(&document).map_err(|error| error.to_string())?;
        Ok((window.since_ns, window.until_ns))
    }

    #[test]
    fn times_after_the_start_of_the_day_and_dates() {
        const SECOND: i64 = 1_000_000_000;
        // 1970-01-02T10:00:00Z.
        let origin = "122400000000000";
        assert_eq!(resolved("5s..1m", origin), Ok((5 * SECOND, 60 * SECOND)));
        assert_eq!(resolved("..2.5", origin), Ok((i64::MIN, 2_500_000_000)));
        assert_eq!(resolved("10:00:10..10:01", origin), Ok((10 * SECOND, 60 * SECOND)));
        assert_eq!(resolved("09:59..10:01", origin), Ok((-60 * SECOND, 60 * SECOND)));
        let midnight = resolved("23:59..00:01", origin).unwrap();
        assert_eq!(midnight.1 - midnight.0, 120 * SECOND);
        let dates = "1970-01-02T10:00:10Z..1970-01-02T11:01:00+01:00";
        assert_eq!(resolved(dates, origin), Ok((10 * SECOND, 60 * SECOND)));
        assert!(resolved("10s..5s", origin).unwrap_err().contains("is empty"));
        assert!(resolved("10:00..10:05", "0").unwrap_err().contains("no date"));
        for wrong in ["", "..", "10s", "soon..later", "25:00..26:00"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
