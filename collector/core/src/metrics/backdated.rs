//! A finished capture as if somebody had looked at it while it ran: points of its own time.

use super::Settings;
use super::accumulator::Accumulator;
use super::point::Point;
use crate::model::time::Timestamp;
use crate::report::Report;
use crate::report::ledger::{Ending, Ledger, News};

/// Times at which points are given, at most; a longer capture has them farther apart.
const TIMES: u64 = 1000;
/// Nanoseconds between them at least: what is scraped is rarely looked at more often.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000_000;

/// What a capture comes to over its own time: whenever training steps or collectives ended, their
/// counters, and at its end everything.
///
/// Flows, ports and counters of NICs are summed up by the report, so they have their one point at the
/// end.
#[must_use]
pub fn points(report: &Report, settings: &Settings) -> Vec<Point> {
    let (start, end) = (report.capture.time(0), report.capture.end());
    let mut all = Accumulator::new(settings.clone(), start);
    let mut points = Vec::new();
    let mut slices = slices(report);
    let last = slices.pop();
    for (time, news) in slices {
        all.add_news(&news);
        points.extend(all.points(time));
    }
    if let Some((_, news)) = last {
        all.add_news(&news);
    }
    all.add_sums(report);
    points.extend(all.points(end));
    points
}

/// What was new in each interval in which something was, by the interval's end; the last slice is for
/// the end of the capture.
fn slices(report: &Report) -> Vec<(Timestamp, News<'_>)> {
    let interval = (report.capture.duration_ns / TIMES).max(SHORTEST_INTERVAL_NS);
    let slice = |end_ns: i64| end_ns.max(0).unsigned_abs().div_ceil(interval);
    let mut slices: std::collections::BTreeMap<u64, News<'_>> = std::collections::BTreeMap::new();
    let news = Ledger::default().news(report, Ending::Closed);
    for one in news.iterations {
        slices.entry(slice(one.end_ns)).or_default().iterations.push(one);
    }
    for one in news.collectives {
        slices.entry(slice(one.end_ns)).or_default().collectives.push(one);
    }
    let time =
        |at: u64| report.capture.time(at.saturating_mul(interval).min(i64::MAX as u64) as i64);
    slices.into_iter().map(|(at, news)| (time(at), news)).collect()
}
