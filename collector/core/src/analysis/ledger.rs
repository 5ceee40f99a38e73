//! What is new since the last analysis: each training step, collective, finding and verdict is
//! announced once.
//!
//! Analyses of a live job overlap: each has everything that is known at its time. The last training
//! step of a job and the last collective of a communicator may still grow, so they are announced
//! when the next one has begun, or at the end. An inferred finding or verdict is announced when
//! a second analysis confirms it; one that vanishes in between was wrong. Metrics, traces, logs and `watch`
//! all announce what this ledger returns.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::finding::Finding;
use super::hang::stopping;
use super::judged::{JudgedCollective, JudgedIteration};
use super::proxy::ProfiledTrainingStep;
use super::understanding::Understanding;
use super::verdict::Verdict;
use crate::link::job::Identity;
use crate::model::address::HostAddress;
use crate::model::grade::Grade;
use crate::model::qpn::Qpn;
use crate::model::time::{Span, Timestamp};

/// Communicators remembered; beyond that the least recently announced are forgotten.
const COMMUNICATOR_CAPACITY: usize = 4096;
/// Findings remembered. One that is forgotten may be announced again.
const FINDING_CAPACITY: usize = 4096;

/// Whether another analysis follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// More will come, so the last training step and collective may grow.
    Open,
    /// This was the last analysis.
    Closed,
}

/// Remembers what was announced.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The last training step announced, by communicator.
    iterations: BTreeMap<Option<Identity>, Span>,
    /// Start and number of the last collective announced, by communicator.
    collectives: BTreeMap<Option<Identity>, (Timestamp, u64)>,
    findings: BTreeSet<FindingKey>,
    /// Findings of the previous analysis that were not announced.
    unconfirmed: BTreeSet<FindingKey>,
    verdicts: BTreeSet<VerdictKey>,
    /// Verdicts of the previous analysis that were not announced.
    unconfirmed_verdicts: BTreeSet<VerdictKey>,
    hangs: BTreeSet<VerdictKey>,
    /// Hangs of the previous analysis that were not announced.
    unconfirmed_hangs: BTreeSet<VerdictKey>,
    /// The last training step of profiles announced, by communicator.
    profiled: BTreeMap<u64, Span>,
}

/// What was not announced before, as indices into the lists of [`Understanding`]. The report's
/// sections list the same in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Training steps, in order of time.
    pub iterations: Vec<usize>,
    /// Collectives, in order of time.
    pub collectives: Vec<usize>,
    /// Findings, the worst first.
    pub findings: Vec<usize>,
    /// Verdicts that say that something is wrong, the costliest first.
    pub verdicts: Vec<usize>,
    /// Verdicts that say why a job no longer moves: one becomes a hang when it has lasted long enough.
    pub hangs: Vec<usize>,
    /// Training steps that only profiles show, in order of time.
    pub profiled_training_steps: Vec<usize>,
}

/// What makes a finding the same in two analyses while its numbers grow. A flow counts only if
/// nothing else names the subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FindingKey {
    id: &'static str,
    cause: Option<&'static str>,
    communicator: Option<Identity>,
    rank: Option<u32>,
    port: Option<IpAddr>,
    flow: Option<(HostAddress, HostAddress, Qpn)>,
}

/// What makes a verdict the same in two analyses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VerdictKey {
    id: &'static str,
    communicator: Option<Identity>,
    rank: Option<u32>,
    ports: [Option<IpAddr>; 2],
}

impl Ledger {
    /// What `understanding` adds since the last call; it counts as announced from now on.
    ///
    /// Analyses come in order of time and on one clock: a capture, or a live job on one host.
    pub fn news(&mut self, understanding: &Understanding, ending: Ending) -> News {
        News {
            iterations: self.new_iterations(understanding, ending),
            collectives: self.new_collectives(understanding, ending),
            findings: self.new_findings(understanding, ending),
            verdicts: self.new_verdicts(understanding, ending),
            hangs: self.new_hangs(understanding, ending),
            profiled_training_steps: self.new_profiled(understanding, ending),
        }
    }

    fn new_iterations(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let communicator =
            |one: &JudgedIteration| understanding.identity(one.iteration.communicator);
        let mut last: BTreeMap<_, Timestamp> = BTreeMap::new();
        for one in &understanding.iterations {
            let start = last.entry(communicator(one)).or_default();
            *start = one.iteration.span.first.max(*start);
        }
        let is_settled = |one: &JudgedIteration| {
            let next = last.get(&communicator(one));
            ending == Ending::Closed || next.is_some_and(|last| one.iteration.span.first < *last)
        };
        let announced = &mut self.iterations;
        let is_new = |one: &JudgedIteration| {
            let span = one.iteration.span;
            let is_new =
                announced.get(&communicator(one)).is_none_or(|last| is_another(*last, span));
            if is_new {
                announced.insert(communicator(one), span);
            }
            is_new
        };
        let settled = places(&understanding.iterations).filter(|(_, one)| is_settled(one));
        let news = select(settled, is_new);
        forget_oldest(&mut self.iterations, |span| span.last);
        news
    }

    fn new_profiled(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let all = &understanding.profiled_training_steps;
        let last: BTreeMap<u64, Timestamp> =
            all.iter().map(|one| (one.hash, one.span.first)).collect();
        let is_settled = |one: &ProfiledTrainingStep| {
            let last = last.get(&one.hash);
            ending == Ending::Closed || last.is_some_and(|last| one.span.first < *last)
        };
        let announced = &mut self.profiled;
        let is_new = |one: &ProfiledTrainingStep| {
            let is_new = announced.get(&one.hash).is_none_or(|last| is_another(*last, one.span));
            if is_new {
                announced.insert(one.hash, one.span);
            }
            is_new
        };
        let news = select(places(all).filter(|(_, one)| is_settled(one)), is_new);
        forget_oldest(&mut self.profiled, |span| span.last);
        news
    }

    fn new_collectives(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let communicator =
            |one: &JudgedCollective| understanding.identity(one.collective.communicator);
        let position =
            |one: &JudgedCollective| (one.collective.span.first, one.collective.sequence);
        let mut last = BTreeMap::new();
        for one in &understanding.collectives {
            let known = last.entry(communicator(one)).or_insert(position(one));
            *known = position(one).max(*known);
        }
        let is_settled = |one: &JudgedCollective| {
            let last = last.get(&communicator(one));
            ending == Ending::Closed || last.is_some_and(|last| position(one) < *last)
        };
        let announced = &mut self.collectives;
        let is_new = |one: &JudgedCollective| {
            let at = position(one);
            let is_new = announced.get(&communicator(one)).is_none_or(|last| at > *last);
            if is_new {
                announced.insert(communicator(one), at);
            }
            is_new
        };
        let settled = places(&understanding.collectives).filter(|(_, one)| is_settled(one));
        let mut settled: Vec<_> = settled.collect();
        settled.sort_by_key(|(_, one)| position(one));
        let news = select(settled.into_iter(), is_new);
        forget_oldest(&mut self.collectives, |(start, _)| *start);
        news
    }

    fn new_findings(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let found = &understanding.findings.found;
        let keyed = found.iter().map(|one| (FindingKey::new(understanding, one), one.grade));
        confirmed(keyed.enumerate(), ending, &mut self.findings, &mut self.unconfirmed)
    }

    fn new_verdicts(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let problems = places(&understanding.verdicts.found).filter(|(_, one)| one.is_problem());
        let keyed =
            problems.map(|(at, one)| (at, (VerdictKey::new(understanding, one), one.grade)));
        confirmed(keyed, ending, &mut self.verdicts, &mut self.unconfirmed_verdicts)
    }

    fn new_hangs(&mut self, understanding: &Understanding, ending: Ending) -> Vec<usize> {
        let standing = stopping(understanding);
        let keyed =
            standing.map(|(at, one)| (at, (VerdictKey::new(understanding, one), one.grade)));
        confirmed(keyed, ending, &mut self.hangs, &mut self.unconfirmed_hangs)
    }
}

impl FindingKey {
    fn new(understanding: &Understanding, finding: &Finding) -> Self {
        let subject = &finding.subject;
        let is_named = subject.port.is_some() || subject.rank.is_some();
        let flows = understanding.state.tracker.flows().flows();
        let flow = subject.flow.filter(|_| !is_named).and_then(|at| flows.get(at as usize));
        Self {
            id: finding.id,
            cause: finding.cause,
            communicator: subject.communicator.and_then(|id| understanding.identity(id)),
            rank: subject.rank,
            port: subject.port,
            flow: flow.map(|flow| (flow.key.source, flow.key.destination, flow.key.dest_qpn)),
        }
    }
}

impl VerdictKey {
    fn new(understanding: &Understanding, verdict: &Verdict) -> Self {
        let subject = &verdict.subject;
        Self {
            id: verdict.class.id(),
            communicator: subject.communicator.and_then(|id| understanding.identity(id)),
            rank: subject.rank,
            ports: [subject.port, subject.peer_port],
        }
    }
}

/// Whether the training step in `span` is a later one than that in `announced`. Numbers change when more of
/// the job is understood, and ends move: a little, or a lot where the part of a training step that was known
/// looked like all of it.
const fn is_another(announced: Span, span: Span) -> bool {
    let [end, middle] = [announced.last.as_nanos(), announced.middle().as_nanos()];
    span.middle().as_nanos() >= end && span.first.as_nanos() >= middle
}

/// The places of those that are certain, or were there in the previous analysis, and were not
/// announced before.
fn confirmed<K: Ord>(
    found: impl Iterator<Item = (usize, (K, Grade))>,
    ending: Ending,
    announced: &mut BTreeSet<K>,
    unconfirmed: &mut BTreeSet<K>,
) -> Vec<usize> {
    let before = std::mem::take(unconfirmed);
    let mut news = Vec::new();
    if announced.len() > FINDING_CAPACITY {
        announced.clear();
    }
    for (at, (key, grade)) in found {
        let is_certain = ending == Ending::Closed || grade == Grade::Proven;
        if !is_certain && !before.contains(&key) && !announced.contains(&key) {
            unconfirmed.insert(key);
        } else if announced.insert(key) {
            news.push(at);
        }
    }
    news
}

fn places<T>(all: &[T]) -> impl Iterator<Item = (usize, &T)> {
    all.iter().enumerate()
}

fn select<'a, T: 'a>(
    all: impl Iterator<Item = (usize, &'a T)>,
    mut is_new: impl FnMut(&T) -> bool,
) -> Vec<usize> {
    all.filter(|(_, one)| is_new(one)).map(|(at, _)| at).collect()
}

/// Keeps the newest of `announced`.
fn forget_oldest<K: Copy + Ord, T>(announced: &mut BTreeMap<K, T>, time: impl Fn(&T) -> Timestamp) {
    while announced.len() > COMMUNICATOR_CAPACITY {
        let oldest = announced.iter().min_by_key(|(_, at)| time(at)).map(|(key, _)| *key);
        oldest.map(|key| announced.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_step_is_announced_once() {
        let span = |first, last| {
            let [first, last] = [first, last].map(Timestamp::from_nanos);
            Span { first, last }
        };
        let announced = span(100, 200);
        // The same, of which only a part was known, or whose ends moved.
        for same in [(100, 400), (100, 190), (90, 210), (110, 180)] {
            assert!(!is_another(announced, span(same.0, same.1)), "{same:?}");
        }
        for next in [(200, 300), (190, 300), (300, 310)] {
            assert!(is_another(announced, span(next.0, next.1)), "{next:?}");
        }
    }
}
