//! Which jobs ran when, and what the agent said of each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::job::{Fault, Plan, is_sick};

/// A job, and its verdicts.
struct Entry {
    plan: Plan,
    /// Nanoseconds since the epoch.
    begin: i128,
    end: i128,
    /// Classes of verdicts by severity, alternatives included.
    said: BTreeMap<String, BTreeSet<String>>,
    /// Their titles, with their severity.
    titles: BTreeSet<String>,
    /// Another rank was blamed for its fault.
    is_misplaced: bool,
}

/// All jobs.
#[derive(Default)]
pub(super) struct Ledger(Vec<Entry>);

/// Verdicts shown of a job that was judged wrongly.
const MISTAKES_SHOWN: usize = 4;

/// How long before a job its first packets, and after it its last, may seem to be.
const SLACK_NS: i128 = 500_000_000;

impl Ledger {
    pub(super) fn begin(&mut self, plan: Plan, now: i128) {
        self.0.push(Entry {
            plan,
            begin: now,
            end: i128::MAX,
            said: BTreeMap::new(),
            titles: BTreeSet::new(),
            is_misplaced: false,
        });
    }

    pub(super) fn end(&mut self, now: i128) {
        if let Some(last) = self.0.last_mut() {
            last.end = now;
        }
    }

    pub(super) fn jobs(&self) -> u64 {
        self.0.len() as u64
    }

    /// Files the verdicts of a report with their jobs.
    pub(super) fn read(&mut self, report: &Value) {
        let origin = report["capture"]["origin_ns"].as_str().and_then(|origin| origin.parse().ok());
        let Some(origin): Option<i128> = origin else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for verdict in report["verdicts"].as_array().into_iter().flatten() {
            let Some(since) = verdict["since_ns"].as_i64() else { continue };
            let until = verdict["until_ns"].as_i64().unwrap_or(since);
            let [since, until] = [since, until].map(|time| origin + i128::from(time));
            let others = verdict["alternatives"].as_array().into_iter().flatten();
            let classes: Vec<String> =
                std::iter::once(&verdict["id"]).chain(others).map(text).collect();
            if classes.iter().any(|class| class == "socket_fallback")
                && self.is_over_tcp(since, until)
            {
                continue;
            }
            let Some(job) = self.job_of(since, until, &classes) else { continue };
            if let Some(fault) = job.plan.fault
                && classes.iter().any(|class| fault.classes().contains(&class.as_str()))
                && !is_sick(&verdict["subject"])
            {
                job.is_misplaced = true;
            }
            let severity = text(&verdict["severity"]);
            let after = (since - job.begin) as f64 / 1e9;
            let [id, title] = ["id", "title"].map(|key| text(&verdict[key]));
            job.titles.insert(format!("{severity} {id} after {after:.1} s: {title}"));
            job.said.entry(severity).or_default().extend(classes);
        }
    }

    /// Whether one of the jobs then used TCP, as it was told to.
    fn is_over_tcp(&self, since: i128, until: i128) -> bool {
        self.0.iter().any(|job| job.plan.is_over_tcp && job.overlaps(since, until))
    }

    /// The job that a verdict is about: that whose fault it names, as traffic of several jobs between the
    /// same ports may be one; else the one in which it began, of two the earlier.
    fn job_of(&mut self, since: i128, until: i128, classes: &[String]) -> Option<&mut Entry> {
        let overlaps = |job: &Entry| job.overlaps(since, until);
        let is_named = |job: &Entry| {
            let known = job.plan.fault.map(Fault::classes).unwrap_or_default();
            classes.iter().any(|class| known.contains(&class.as_str()))
        };
        let at = self.0.iter().position(|job| overlaps(job) && is_named(job));
        let at = at.or_else(|| self.0.iter().position(overlaps))?;
        self.0.get_mut(at)
    }

    /// What was said of jobs whose fault was not named, and of healthy ones with an alarm.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let is_wrong = |job: &Entry| match job.plan.fault {
            Some(fault) => !job.names(fault),
            None => job.said.contains_key("critical"),
        };
        let wrong =
            self.0.iter().enumerate().filter(|(_, job)| job.end != i128::MAX && is_wrong(job));
        let line = |(number, job): (usize, &Entry)| {
            let fault = job.plan.fault.map_or("healthy", Fault::name);
            let some: Vec<&String> = job.titles.iter().take(MISTAKES_SHOWN).collect();
            format!("job {number}, {fault}: {some:?}")
        };
        wrong.map(line).collect()
    }

    /// Of each fault, how many jobs had it, and in how many it was named.
    pub(super) fn found(&self) -> Vec<(Fault, usize, usize)> {
        let of = |fault: Fault| {
            let jobs = || self.ended().filter(move |job| job.plan.fault == Some(fault));
            (fault, jobs().count(), jobs().filter(|job| job.names(fault)).count())
        };
        Fault::ALL.into_iter().map(of).collect()
    }

    /// Healthy jobs, and how many of them had a verdict of `severity`, by class.
    pub(super) fn alarms(&self, severity: &str) -> (usize, BTreeMap<String, usize>) {
        let healthy = || self.ended().filter(|job| job.plan.fault.is_none());
        let mut classes: BTreeMap<String, usize> = BTreeMap::new();
        for class in healthy().filter_map(|job| job.said.get(severity)).flatten() {
            *classes.entry(class.clone()).or_default() += 1;
        }
        (healthy().count(), classes)
    }

    fn ended(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().filter(|job| job.end != i128::MAX)
    }
}

impl Entry {
    fn overlaps(&self, since: i128, until: i128) -> bool {
        self.begin - SLACK_NS <= until && since <= self.end.saturating_add(SLACK_NS)
    }

    /// Whether a problem was reported of the class of `fault`, always at its place.
    fn names(&self, fault: Fault) -> bool {
        let problems = ["critical", "warning"].map(|severity| self.said.get(severity));
        let mut classes = problems.into_iter().flatten().flatten();
        !self.is_misplaced && classes.any(|class| fault.classes().contains(&class.as_str()))
    }
}
