//! What is new in a report since the last one of the same traffic: a line for each training step and
//! each finding, told once.

use std::collections::{BTreeMap, BTreeSet};

use super::iteration_story::suffered;
use super::job_iterations::{JobIterations, name};
use super::label;
use super::quantity::duration;
use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::iterations::IterationReport;

/// A line of news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsLine {
    /// The words.
    pub text: String,
    /// Whether something is wrong.
    pub is_bad: bool,
}

/// What was told already.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// When the last training step that was told ended, by job.
    told_until: BTreeMap<String, i64>,
    findings: BTreeSet<String>,
    /// Findings of the report before: one that vanishes with what comes next was none.
    candidates: BTreeSet<String>,
}

impl News {
    /// What nobody was told yet. The last training step of a job is kept back, because what comes
    /// next may still change it, unless this is the end.
    pub fn of(&mut self, report: &Report, is_end: bool) -> Vec<NewsLine> {
        let origin = report.capture.origin_ns.parse().unwrap_or(0_i64);
        let mut lines = Vec::new();
        for job in JobIterations::of_jobs(report) {
            let kept_back = usize::from(!is_end);
            let settled = job.all.len().saturating_sub(kept_back);
            for one in job.all.iter().take(settled) {
                let of = one.communicator.clone().unwrap_or_default();
                let until = self.told_until.entry(of).or_insert(i64::MIN);
                // Numbers change when more of the job is understood, and ends move a little; middles last.
                let middle = one.start_ns.midpoint(one.end_ns);
                if middle.saturating_add(origin) < *until {
                    continue;
                }
                *until = one.end_ns.saturating_add(origin);
                lines.push((one.end_ns, iteration(one)));
            }
        }
        let bad = || report.findings.iter().filter(|one| one.severity != "info");
        let before = std::mem::replace(&mut self.candidates, bad().map(key).collect());
        for finding in bad() {
            let key = key(finding);
            if (is_end || before.contains(&key)) && self.findings.insert(key) {
                let text = format!("{}: {}", finding.severity, label::printable(&finding.title));
                let at = finding.last_ns.unwrap_or(i64::MAX);
                lines.push((at, NewsLine { text, is_bad: true }));
            }
        }
        lines.sort_by_key(|(at, _)| *at);
        let stamped = |(at, line): (i64, NewsLine)| NewsLine {
            text: format!("{}  {}", clock(origin.saturating_add(at)), line.text),
            ..line
        };
        let latest = report.capture.duration_ns.try_into().unwrap_or(i64::MAX);
        lines.into_iter().map(|(at, line)| stamped((at.min(latest), line))).collect()
    }
}

/// `training step 4: 142 ms, 80.1 ms longer than the median; the others waited 79.0 ms for rank 2
/// (compute)`.
fn iteration(one: &IterationReport) -> NewsLine {
    let mut text = format!("training step {}: {}", name(one), duration(one.length_ns()));
    if one.sets_up {
        text += " (connections are set up)";
    } else if !one.complete {
        text += " (in part)";
    }
    if let Some(excess) = one.excess_ns {
        text += &format!(", {} longer than the median", duration(excess));
    }
    if let Some(late) = &one.straggler {
        let waited = duration(late.lag_ns);
        text += &format!("; the others waited {waited} for rank {} ({})", late.rank, late.cause);
    }
    for reason in suffered(one) {
        text += "; ";
        text += &reason;
    }
    NewsLine { text, is_bad: one.straggler.is_some() }
}

/// What stays the same while its numbers grow.
fn key(finding: &FindingReport) -> String {
    let subject = &finding.subject;
    let (of, port) = (&subject.communicator, &subject.port);
    format!("{} {:?} {of:?} {:?} {port:?}", finding.id, finding.cause, subject.rank)
}

/// `12:34:56` in UTC, of nanoseconds since 1970.
fn clock(ns: i64) -> String {
    let seconds = ns.max(0) / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}
