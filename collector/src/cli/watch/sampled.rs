//! What switches sampled, now and then: a line for each.

use std::time::{Duration, Instant};

use crate::export::text::news::{self, NewsLine};
use railscope_core::report::Report;

/// Least time between two looks: estimates change little from one to the next.
const REST: Duration = Duration::from_secs(10);

/// What was written last.
#[derive(Default)]
pub(super) struct Sampled {
    written: Option<Instant>,
    datagrams: u64,
}

impl Sampled {
    /// The lines, if it is time for them and more came; at the end, however soon that is.
    pub(super) fn lines(&mut self, report: &Report, is_end: bool) -> Vec<NewsLine> {
        let datagrams = report.sampled.iter().map(|switch| switch.datagrams).sum();
        let is_due = is_end || self.written.is_none_or(|written| written.elapsed() >= REST);
        if !is_due || datagrams == self.datagrams {
            return Vec::new();
        }
        self.written = Some(now());
        self.datagrams = datagrams;
        news::sampled(report)
    }
}

#[expect(clippy::disallowed_methods, reason = "lines are not to come too often")]
fn now() -> Instant {
    Instant::now()
}
