//! When the proxies of a process waited for other ranks, in any of its communicators.
//!
//! A rank is in several communicators: data, tensor and pipeline parallel. While it waits for others in
//! one, it comes late to the next collective of another one by no fault of its own. From when its own
//! first data of a collective was there until that ended, a rank waits for others or for the network; one
//! that sends nothing does so all the time. What is left of the time between two collectives is its own.

use std::collections::{BTreeMap, VecDeque};

use super::{CollectiveWaits, ProcessRecords};

/// Waits of a process that are kept, the latest ones.
const KEPT: usize = 4096;

/// Waits that are looked at for one answer. Where there are more, all of the time counts as waited: a rank
/// is rather not named.
const LOOKED_AT: usize = 4096;

/// A wait in one communicator, in time of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    comm: u32,
    from: u64,
    until: u64,
}

/// Waits that are over, of a process that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    waits: VecDeque<Wait>,
    /// What was before is forgotten.
    forgotten_until: u64,
}

/// Waits of a process, to be asked.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// By their begin, each with the latest end of all up to it.
    over: Vec<(Wait, u64)>,
    /// When those that go on began; the earliest of each communicator.
    open: BTreeMap<u32, u64>,
    forgotten_until: u64,
}

/// When a rank began to wait in a collective; 0 if it did not yet.
fn begun(one: &CollectiveWaits) -> u64 {
    let moments = &one.moments;
    if moments.first_data_ns > 0 { moments.first_data_ns } else { moments.began_ns }
}

impl Past {
    /// Takes note of a collective that is over.
    pub(super) fn note(&mut self, one: &CollectiveWaits) {
        let (comm, from, until) = (one.comm, begun(one), one.moments.ended_ns);
        if from < until {
            self.waits.push_back(Wait { comm, from, until });
        }
        while self.waits.len() > KEPT {
            let gone = self.waits.pop_front().map_or(0, |gone| gone.until);
            self.forgotten_until = self.forgotten_until.max(gone);
        }
    }

    /// With those of collectives that are not in it yet.
    pub(super) fn with<'a>(&self, new: impl Iterator<Item = &'a CollectiveWaits>) -> Waits {
        let past = self.waits.iter().copied();
        Waits { forgotten_until: self.forgotten_until, ..Waits::new(past, new) }
    }
}

impl Waits {
    fn new<'a>(
        past: impl Iterator<Item = Wait>,
        new: impl Iterator<Item = &'a CollectiveWaits>,
    ) -> Self {
        let mut over: Vec<Wait> = past.collect();
        let mut open: BTreeMap<u32, u64> = BTreeMap::new();
        for one in new.filter(|one| one.moments.began_ns > 0) {
            let (comm, moments) = (one.comm, &one.moments);
            if moments.is_over() {
                over.push(Wait { comm, from: begun(one), until: moments.ended_ns });
            } else {
                // Whether its data is there is known when an operation has ended.
                let from = open.entry(comm).or_insert(moments.began_ns);
                *from = moments.began_ns.min(*from);
            }
        }
        over.retain(|wait| wait.from < wait.until);
        over.sort_unstable_by_key(|wait| wait.from);
        let mut latest = 0;
        let with_latest = |wait: Wait| {
            latest = wait.until.max(latest);
            (wait, latest)
        };
        Self { over: over.into_iter().map(with_latest).collect(), open, forgotten_until: 0 }
    }

    /// Nanoseconds between `from` and `until` in which other communicators than `comm` waited.
    pub(super) fn elsewhere_ns(&self, comm: u32, from: u64, until: u64) -> u64 {
        let others = self.open.iter().filter(|(other, _)| **other != comm);
        let open_from = others.map(|(_, began)| *began).min().unwrap_or(until);
        let (first, last) = (from.max(self.forgotten_until), until.min(open_from));
        // Before what is remembered, and since something goes on, all is waited.
        let mut waited = until.saturating_sub(from).saturating_sub(last.saturating_sub(first));
        let end = self.over.partition_point(|(wait, _)| wait.from < last);
        let before = self.over.get(..end).unwrap_or_default();
        let mut looked_at = 0_usize;
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (wait, latest) in before.iter().rev() {
            if *latest <= first {
                break;
            }
            looked_at = looked_at.saturating_add(1);
            if looked_at > LOOKED_AT {
                return until.saturating_sub(from);
            }
            if wait.comm != comm && wait.until > first {
                spans.push((wait.from.max(first), wait.until.min(last)));
            }
        }
        // Communicators wait at the same time: that counts once.
        let mut counted = first;
        for (begin, end) in spans.into_iter().rev() {
            waited = waited.saturating_add(end.saturating_sub(begin.max(counted)));
            counted = counted.max(end);
        }
        waited
    }
}

/// What the other communicators of a process did while it came to a collective of one.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    waits: Waits,
    /// How long each collective, by its number, came later because another communicator waited: from the
    /// end of the one before in its own communicator until its first data was there.
    by_collective: BTreeMap<u32, u64>,
    /// When collectives without any operation were called, and in which communicator: all of its ranks are
    /// on this node, and nobody knows how long they wait for each other.
    hidden: Vec<(u64, u32)>,
}

impl Elsewhere {
    pub(super) fn of_process(process: &ProcessRecords) -> Self {
        let all = || process.collectives.values();
        let Some(first) = all().next().map(|one| one.comm) else { return Self::default() };
        if all().all(|one| one.comm == first) {
            return Self::default();
        }
        let waits = Waits::new(std::iter::empty(), all());
        let mut over: Vec<(&u32, &CollectiveWaits)> =
            process.collectives.iter().filter(|(_, one)| one.moments.is_over()).collect();
        over.sort_by_key(|(_, one)| one.moments.began_ns);
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        let mut by_collective = BTreeMap::new();
        for (number, one) in over {
            let from = ends.get(&one.comm).copied().unwrap_or(one.moments.began_ns);
            let elsewhere_ns = waits.elsewhere_ns(one.comm, from, begun(one).max(from));
            if elsewhere_ns > 0 {
                by_collective.insert(*number, elsewhere_ns);
            }
            ends.insert(one.comm, one.moments.ended_ns.max(from));
        }
        let calls = all().filter(|one| one.moments.began_ns == 0).filter_map(|one| one.called);
        let mut hidden: Vec<(u64, u32)> = calls.map(|one| (one.time_ns, one.comm)).collect();
        hidden.sort_unstable();
        Self { waits, by_collective, hidden }
    }

    /// How long collective `number` came later because another communicator waited.
    pub(super) fn of_collective(&self, number: u32) -> u64 {
        self.by_collective.get(&number).copied().unwrap_or(0)
    }

    /// Nanoseconds of a span that were the process's own on its way to a collective of `comm`, whose one
    /// before it called at `before_ns`. Who may wait where nobody sees it has none.
    pub(super) fn own_ns(&self, comm: u32, before_ns: u64, (from, until): (u64, u64)) -> u64 {
        let begin = self.hidden.partition_point(|(time, _)| *time <= before_ns);
        let end = self.hidden.partition_point(|(time, _)| *time < until);
        let between = self.hidden.get(begin..end).unwrap_or_default();
        if between.len() > LOOKED_AT || between.iter().any(|(_, other)| *other != comm) {
            return 0;
        }
        let length = until.saturating_sub(from);
        length.saturating_sub(self.waits.elsewhere_ns(comm, from, until.max(from)))
    }

    #[cfg(test)]
    pub(super) fn hidden_at(times: impl IntoIterator<Item = u64>, comm: u32) -> Self {
        let hidden = times.into_iter().map(|time| (time, comm)).collect();
        Self { hidden, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(comm: u32, from: u64, until: u64) -> Wait {
        Wait { comm, from, until }
    }

    fn waits(all: &[Wait]) -> Waits {
        Waits::new(all.iter().copied(), std::iter::empty())
    }

    #[test]
    fn what_other_communicators_wait_counts_once() {
        let all = waits(&[
            wait(1, 0, 100),
            wait(2, 10, 30),
            wait(3, 20, 40),
            wait(2, 60, 70),
            wait(2, 90, 200),
        ]);
        assert_eq!(all.elsewhere_ns(1, 0, 100), 30 + 10 + 10);
        assert_eq!(all.elsewhere_ns(1, 25, 65), 15 + 5);
        assert_eq!(all.elsewhere_ns(2, 0, 100), 100, "communicator 1 waits all the time");
        assert_eq!(all.elsewhere_ns(1, 300, 400), 0);
        assert_eq!(all.elsewhere_ns(1, 50, 50), 0);
        assert_eq!(waits(&[]).elsewhere_ns(1, 0, 100), 0);
    }

    #[test]
    fn what_is_not_known_counts_as_waited() {
        let past = Past { waits: [wait(2, 50, 60)].into(), forgotten_until: 40 };
        let mut open = CollectiveWaits { comm: 3, ..CollectiveWaits::default() };
        open.moments.begin(90);
        let all = past.with(std::iter::once(&open));
        assert_eq!(all.elsewhere_ns(1, 0, 100), 40 + 10 + 10);
        // Its own communicator does not keep it from its own work.
        assert_eq!(all.elsewhere_ns(3, 0, 100), 40 + 10);
        let many: Vec<Wait> = (0..LOOKED_AT as u64 + 1).map(|at| wait(2, at, 1 << 40)).collect();
        assert_eq!(waits(&many).elsewhere_ns(1, 0, 1 << 41), 1 << 41);
    }
}
