//! What is new in a report: each training step, collective and finding is announced once.
//!
//! Reports of a live job overlap: each has all that is known at its time. The last training step of
//! a job, and the last collective of a communicator, may still grow, so they are announced when the
//! next one has begun, or when all is over. An inferred finding is announced when a second report
//! confirms it: one that vanishes with what comes next was none. Metrics, traces, logs and `watch`
//! take their news from here, so that all announce alike.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::grade::Grade;
use crate::model::time::Timestamp;
use crate::report::Report;
use crate::report::collectives::CollectiveReport;
use crate::report::findings::FindingReport;
use crate::report::iterations::IterationReport;

/// Communicators that are remembered; beyond that those announced longest ago go first.
const COMMUNICATOR_CAPACITY: usize = 4096;
/// Findings that are remembered. One that is forgotten may be announced again.
const FINDING_CAPACITY: usize = 4096;

/// Whether more of the same will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// More will come: what is last may grow.
    Open,
    /// This was the last report.
    Closed,
}

/// What was announced.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// End of the last training step announced, by communicator.
    iterations: BTreeMap<String, Timestamp>,
    /// Start and number of the last collective announced, by communicator.
    collectives: BTreeMap<String, (Timestamp, u64)>,
    findings: BTreeSet<FindingKey>,
    /// Findings of the report before that were not announced.
    unconfirmed: BTreeSet<FindingKey>,
}

/// What a report has that was not announced, each in the order of the report.
#[derive(Clone, Debug, Default)]
pub struct News<'a> {
    /// Training steps.
    pub iterations: Vec<&'a IterationReport>,
    /// Collectives.
    pub collectives: Vec<&'a CollectiveReport>,
    /// Findings.
    pub findings: Vec<&'a FindingReport>,
}

/// What makes a finding the same in two reports, while its numbers grow. Flows are numbered anew in
/// each report, and count only where nothing else names the subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FindingKey {
    id: &'static str,
    cause: Option<&'static str>,
    communicator: Option<String>,
    rank: Option<u32>,
    port: Option<String>,
    flow: Option<(String, String, u32)>,
}

impl Ledger {
    /// What `report` has that was not announced; from now on it was.
    ///
    /// Reports come in the order of time, and their clocks agree: a capture, or a live job on one
    /// host.
    pub fn news<'a>(&mut self, report: &'a Report, ending: Ending) -> News<'a> {
        News {
            iterations: self.new_iterations(report, ending),
            collectives: self.new_collectives(report, ending),
            findings: self.new_findings(report, ending),
        }
    }

    fn new_iterations<'a>(
        &mut self,
        report: &'a Report,
        ending: Ending,
    ) -> Vec<&'a IterationReport> {
        let mut last: BTreeMap<&str, i64> = BTreeMap::new();
        for one in &report.iterations {
            let start = last.entry(communicator(one)).or_insert(one.start_ns);
            *start = one.start_ns.max(*start);
        }
        let is_settled = |one: &&IterationReport| {
            ending == Ending::Closed
                || last.get(communicator(one)).is_some_and(|last| one.start_ns < *last)
        };
        let announced = &mut self.iterations;
        let is_new = |one: &&IterationReport| {
            // Numbers change when more of the job is understood, and ends move a little; middles last.
            let start = report.capture.time(one.start_ns);
            let middle = report.capture.time(one.start_ns.midpoint(one.end_ns));
            let is_new = announced.get(communicator(one)).is_none_or(|end| middle >= *end);
            if is_new {
                announced.insert(
                    communicator(one).to_owned(),
                    report.capture.time(one.end_ns).max(start),
                );
            }
            is_new
        };
        let news = report.iterations.iter().filter(is_settled).filter(is_new).collect();
        forget_oldest(&mut self.iterations);
        news
    }

    fn new_collectives<'a>(
        &mut self,
        report: &'a Report,
        ending: Ending,
    ) -> Vec<&'a CollectiveReport> {
        let place = |one: &CollectiveReport| (one.start_ns, one.sequence);
        let mut last: BTreeMap<&str, (i64, u64)> = BTreeMap::new();
        for one in &report.collectives {
            let known = last.entry(&one.communicator).or_insert(place(one));
            *known = place(one).max(*known);
        }
        let is_settled = |one: &&CollectiveReport| {
            let is_last =
                last.get(one.communicator.as_str()).is_none_or(|last| place(one) >= *last);
            ending == Ending::Closed || !is_last
        };
        let announced = &mut self.collectives;
        let is_new = |one: &&CollectiveReport| {
            let at = (report.capture.time(one.start_ns), one.sequence);
            let is_new = announced.get(&one.communicator).is_none_or(|last| at > *last);
            if is_new {
                announced.insert(one.communicator.clone(), at);
            }
            is_new
        };
        let mut settled: Vec<_> = report.collectives.iter().filter(is_settled).collect();
        settled.sort_by_key(|one| place(one));
        let news = settled.into_iter().filter(is_new).collect();
        forget_oldest(&mut self.collectives);
        news
    }

    fn new_findings<'a>(&mut self, report: &'a Report, ending: Ending) -> Vec<&'a FindingReport> {
        let keys = || report.findings.iter().map(|finding| FindingKey::new(report, finding));
        let before = std::mem::take(&mut self.unconfirmed);
        let mut news = Vec::new();
        for (finding, key) in report.findings.iter().zip(keys()) {
            let is_certain = ending == Ending::Closed || finding.grade == Grade::Proven.name();
            if !is_certain && !before.contains(&key) {
                self.unconfirmed.insert(key);
            } else if self.findings.insert(key) {
                news.push(finding);
            }
        }
        if self.findings.len() > FINDING_CAPACITY {
            self.findings = keys().collect();
        }
        news
    }
}

impl FindingKey {
    fn new(report: &Report, finding: &FindingReport) -> Self {
        let subject = &finding.subject;
        let is_named = subject.port.is_some() || subject.rank.is_some();
        let flow = subject.flow.filter(|_| !is_named).and_then(|id| report.flow(id));
        Self {
            id: finding.id,
            cause: finding.cause,
            communicator: subject.communicator.clone(),
            rank: subject.rank,
            port: subject.port.clone(),
            flow: flow.map(|flow| (flow.src.clone(), flow.dst.clone(), flow.dest_qpn)),
        }
    }
}

/// The communicator of a training step; empty where it has none.
fn communicator(one: &IterationReport) -> &str {
    one.communicator.as_deref().unwrap_or_default()
}

/// Keeps the newest of `announced`.
fn forget_oldest<T: Copy + Ord>(announced: &mut BTreeMap<String, T>) {
    while announced.len() > COMMUNICATOR_CAPACITY {
        let oldest = announced.iter().min_by_key(|(_, at)| **at).map(|(name, _)| name.clone());
        oldest.map(|name| announced.remove(&name));
    }
}
