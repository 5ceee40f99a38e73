//! News of a live job: one line per training step and per verdict.

use super::iteration_story::suffered;
use super::job_iterations::name;
use super::label;
use super::quantity::{count, duration};
use super::sampled_section;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::news::ReportNews;

/// A line that `watch` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsLine {
    /// What happened, and when.
    pub text: String,
    /// Whether it is a problem.
    pub is_bad: bool,
}

/// What is new in `report`, in order of time.
#[must_use]
pub fn lines(report: &Report, news: &ReportNews<'_>) -> Vec<NewsLine> {
    let iterations = news.iterations.iter().map(|one| (one.end_ns, iteration(one)));
    let verdicts = news.verdicts.iter().map(|verdict| {
        let text = format!("{}: {}", verdict.severity, label::printable(&verdict.title));
        (verdict.until_ns.unwrap_or(i64::MAX), NewsLine { text, is_bad: true })
    });
    let mut lines: Vec<(i64, NewsLine)> = iterations.chain(verdicts).collect();
    lines.sort_by_key(|(at, _)| *at);
    let latest = report.capture.duration_ns.try_into().unwrap_or(i64::MAX);
    let stamped = |(at, line): (i64, NewsLine)| NewsLine {
        text: format!("{}  {}", clock(report.capture.time(at.min(latest))), line.text),
        ..line
    };
    lines.into_iter().map(stamped).collect()
}

/// Most switches that have a line.
const SWITCHES: usize = 16;

/// `12:34:56  sFlow of 10.0.0.254: RoCE: 1,200 (1,000 to 1,400) packets, ...` for each switch.
#[must_use]
pub fn sampled(report: &Report) -> Vec<NewsLine> {
    let now = report.capture.duration_ns.try_into().unwrap_or(i64::MAX);
    let stamped = |text: String| NewsLine {
        text: format!("{}  {text}", clock(report.capture.time(now))),
        is_bad: false,
    };
    let line = |switch| {
        let facts = sampled_section::lines(switch).join("; ");
        stamped(format!("{}: {facts}", sampled_section::title(switch)))
    };
    let more = report.sampled.len().saturating_sub(SWITCHES);
    let more = (more > 0).then(|| {
        stamped(format!("sFlow of others, {} in all", count(report.sampled.len() as u64)))
    });
    report.sampled.iter().take(SWITCHES).map(line).chain(more).collect()
}

/// `training step 4: 142 ms, 80.1 ms longer than the median; the other ranks waited 79.0 ms for
/// rank 2 (compute)`.
fn iteration(one: &IterationReport) -> NewsLine {
    let mut text = format!("training step {}: {}", name(one), duration(one.length_ns()));
    if one.sets_up {
        text += " (sets up connections)";
    } else if !one.complete {
        text += " (partial)";
    }
    if let Some(excess) = one.excess_ns {
        text += &format!(", {} longer than the median", duration(excess));
    }
    if let Some(late) = &one.straggler {
        let waited = duration(late.lag_ns);
        text += &format!(
            "; the other ranks waited {waited} for rank {} ({})",
            late.rank,
            late.cause.name()
        );
    }
    for reason in suffered(one) {
        text += "; ";
        text += &reason;
    }
    NewsLine { text, is_bad: one.straggler.is_some() }
}

/// `12:34:56` in UTC.
fn clock(time: Timestamp) -> String {
    let seconds = time.as_nanos() / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}
