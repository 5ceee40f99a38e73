//! Points of a finished capture at the times at which a live job would have exported them.

use std::collections::BTreeMap;

use super::Settings;
use super::accumulator::Accumulator;
use super::point::Point;
use crate::analysis::ledger::{Ending, Ledger, News};
use crate::analysis::understanding::Understanding;
use crate::model::time::{Span, Timestamp};

/// Most times at which there are points; those of a longer capture are farther apart.
const TIMES: u64 = 1000;
/// Least nanoseconds between two times: few scrape more often.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000_000;

/// Points of a capture that lasted for `span`: the counters of training steps and collectives
/// whenever some ended, and everything at the end.
///
/// Flows, ports and NIC counters are sums of the whole capture, so they have one point each, at the
/// end.
#[must_use]
pub fn points(understanding: &Understanding, span: Span, settings: &Settings) -> Vec<Point> {
    let mut all = Accumulator::new(settings.clone(), span.first);
    let mut points = Vec::new();
    let mut slices = slices(understanding, span);
    let last = slices.pop();
    for (time, news) in slices {
        all.add_news(understanding, &news);
        points.extend(all.points(time));
    }
    if let Some((_, news)) = last {
        all.add_news(understanding, &news);
    }
    all.add_sums(understanding);
    points.extend(all.points(span.last));
    points
}

/// What ended in each interval, with the interval's end; empty intervals are left out.
fn slices(understanding: &Understanding, span: Span) -> Vec<(Timestamp, News)> {
    let length_ns = span.last.nanos_since(span.first);
    let interval = (length_ns / TIMES).max(SHORTEST_INTERVAL_NS);
    let slice = |end: Timestamp| end.nanos_since(span.first).div_ceil(interval);
    let mut slices: BTreeMap<u64, News> = BTreeMap::new();
    let news = Ledger::default().news(understanding, Ending::Closed);
    for at in news.iterations {
        let Some(one) = understanding.iterations.get(at) else { continue };
        slices.entry(slice(one.iteration.span.last)).or_default().iterations.push(at);
    }
    for at in news.collectives {
        let Some(one) = understanding.collectives.get(at) else { continue };
        slices.entry(slice(one.collective.span.last)).or_default().collectives.push(at);
    }
    let time = |at: u64| span.first.plus_nanos(at.saturating_mul(interval));
    slices.into_iter().map(|(at, news)| (time(at), news)).collect()
}
