//! A rank that calls late among several of its node.
//!
//! Ranks of one node hand data on without proxies, so all of them wait for the late one, and their waits do
//! not tell which it is. But their processes share a clock: it shows that one of them called when the data
//! of the others had been there for a while. No collective ends before all ranks have called it, so that
//! time was lost, unless a rank of another node came later still. Clocks of two nodes are not compared: all
//! ranks end about together, and how long before its end a node was ready is a length.
//!
//! Which GPU of a node was late, calls do not say.

use std::collections::BTreeMap;

use super::elsewhere::Elsewhere;
use super::late::{LEAST_NS, Late, Lateness, ShownBy};
use super::tally::Tallies;
use super::{CollectiveKey, CollectiveWaits, ProcessRecords};

/// What the clocks of two processes of one host may differ by, as their headers show them. The clock of one
/// host is the same for all; headers are written when it was perhaps just set.
const SAME_CLOCK_NS: i128 = 50_000_000;

/// A collective in one process of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Place of the process.
    pub(super) process: usize,
    /// Number of the communicator in the process.
    pub(super) comm: u32,
    /// When the process called the one before of the communicator; 0 if it did not.
    pub(super) before_ns: u64,
    /// When it called this one.
    pub(super) called_ns: u64,
    /// When its first data was there to be sent to another node; `None` if it sends none there.
    data_ns: Option<u64>,
    /// When its GPU took the first data of another node; `None` if it did not.
    taken_ns: Option<u64>,
    /// When its operations ended; `None` if it has none.
    ended_ns: Option<u64>,
    lasted_ns: u64,
}

/// The calls of a communicator, by collective and rank.
pub(super) type Calls = BTreeMap<CollectiveKey, BTreeMap<u32, Call>>;

impl Call {
    /// `None` if it was not recorded as a whole: what is open, or has no operations although its process has
    /// some in this communicator.
    pub(super) fn new(
        (process, before_ns): (usize, u64),
        one: &CollectiveWaits,
        has_edges: bool,
    ) -> Option<Self> {
        let called = one.called?;
        let moments = &one.moments;
        let is_whole = if has_edges { moments.is_over() } else { moments.began_ns == 0 };
        is_whole.then_some(Self {
            process,
            comm: one.comm,
            before_ns,
            called_ns: called.time_ns,
            data_ns: Some(moments.first_data_ns).filter(|ns| *ns > 0),
            taken_ns: Some(moments.taken_ns).filter(|ns| *ns > 0),
            ended_ns: Some(moments.ended_ns).filter(|ns| *ns > 0),
            lasted_ns: one.lasted_ns,
        })
    }

    /// Since when nobody waits for it, as far as is known.
    fn ready_ns(&self) -> u64 {
        self.data_ns.unwrap_or(0).max(self.called_ns)
    }

    /// When its GPU had surely come to it, if that was before `until_ns`.
    fn seen_before(&self, until_ns: u64) -> Option<u64> {
        // Who takes data was there by then; who did not yet may have waited for it.
        self.data_ns.or(self.taken_ns).filter(|ns| *ns < until_ns)
    }
}

/// Which processes share a clock: a number for each. They have the name of a host and its clock in common;
/// names alone may be those of two hosts.
pub(super) fn clocks(processes: &[ProcessRecords]) -> Vec<usize> {
    let of = |process: &ProcessRecords| {
        let header = process.header.as_ref()?;
        let offset = i128::from(header.realtime_ns) - i128::from(header.monotonic_ns);
        Some((header.host.clone(), offset))
    };
    let mut sorted: Vec<(Option<(String, i128)>, usize)> =
        processes.iter().map(of).zip(0..).collect();
    sorted.sort();
    let mut clocks = vec![0; processes.len()];
    let mut begun: Option<(String, i128)> = None;
    let mut number = 0_usize;
    for (of, place) in sorted {
        let is_same = of.as_ref().zip(begun.as_ref()).is_some_and(|(of, begun)| {
            of.0 == begun.0 && of.1.saturating_sub(begun.1) <= SAME_CLOCK_NS
        });
        if !is_same {
            number = number.saturating_add(1);
            begun = of;
        }
        if let Some(clock) = clocks.get_mut(place) {
            *clock = number;
        }
    }
    clocks
}

/// What is known of the processes.
pub(super) struct Processes<'a> {
    /// Which share a clock.
    pub(super) clocks: &'a [usize],
    pub(super) elsewhere: &'a [Elsewhere],
}

/// The rank that called late, of a communicator of so many ranks on so many nodes, and how many collectives
/// were judged.
pub(super) fn judge(
    hash: u64,
    (ranks, nodes): (u32, u32),
    calls: &Calls,
    processes: &Processes<'_>,
) -> (Option<Late>, u64) {
    let mut tallies = Tallies::default();
    for row in calls.values().filter(|row| u32::try_from(row.len()) == Ok(ranks)) {
        let mut hosts: BTreeMap<usize, BTreeMap<u32, &Call>> = BTreeMap::new();
        for (rank, call) in row {
            let clock = processes.clocks.get(call.process).copied().unwrap_or(0);
            hosts.entry(clock).or_default().insert(*rank, call);
        }
        // Containers of a node may have names of their own, and two nodes the same one.
        if u32::try_from(hosts.len()) != Ok(nodes) || nodes < 2 {
            continue;
        }
        tallies.judged(row.values().map(|call| call.lasted_ns).max().unwrap_or(0));
        for (clock, host) in &hosts {
            let others = hosts.iter().filter(|(other, _)| *other != clock).map(|(_, host)| host);
            if let Some((rank, late_ns)) = last_caller(host, others, processes)
                && late_ns >= LEAST_NS
            {
                tallies.late(rank, late_ns, Lateness::Enqueue);
            }
        }
    }
    let late = tallies.named(hash).map(|late| Late { shown_by: ShownBy::Clock, ..late });
    (late, tallies.judged)
}

/// The rank of `host` that called last, and how long everybody else was ready by then.
fn last_caller<'a>(
    host: &BTreeMap<u32, &Call>,
    others: impl Iterator<Item = &'a BTreeMap<u32, &'a Call>>,
    processes: &Processes<'_>,
) -> Option<(u32, u64)> {
    let (rank, last) = host.iter().max_by_key(|(_, call)| call.called_ns)?;
    let mates = || host.iter().filter(|(other, _)| *other != rank).map(|(_, call)| call);
    // Only data that is there, or taken, proves that a GPU waits; who calls ahead of it loses nothing.
    let seen_ns = mates().filter_map(|call| call.seen_before(last.called_ns)).max()?;
    let ready_ns = mates().map(|call| call.ready_ns()).max()?.max(seen_ns);
    let own = processes.elsewhere.get(last.process)?;
    let own_ns = own.own_ns(last.comm, last.before_ns, (ready_ns, last.called_ns));
    let ended = |host: &BTreeMap<u32, &Call>| host.values().filter_map(|call| call.ended_ns).max();
    let since_ns = ended(host)?.saturating_sub(last.called_ns);
    let mut late_ns = own_ns;
    for other in others {
        let ready_ns = other.values().map(|call| call.ready_ns()).max()?;
        let there_ns = ended(other)?.saturating_sub(ready_ns);
        late_ns = late_ns.min(there_ns.saturating_sub(since_ns));
    }
    Some((*rank, late_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::proxy::own::First;
    use crate::decode::profiler::{Function, fixture};

    const MS: u64 = 1_000_000;

    /// When a rank called, had data and ended, in milliseconds; ranks without data have no proxies.
    type Times = (u64, Option<u64>, u64);

    fn call(rank: u32, number: u64, (called, data, ended): Times) -> Call {
        let at = |ms: u64| (number * 1000 + ms) * MS;
        let mut one = CollectiveWaits {
            comm: 1,
            called: Some(fixture::call(1, 1, at(called))),
            lasted_ns: ended.saturating_sub(called) * MS,
            ..CollectiveWaits::default()
        };
        if let Some(data) = data {
            one.moments.begin(at(called));
            one.moments.first(First::Data(at(data)));
            one.moments.end(&Default::default(), at(called), one.lasted_ns);
        }
        Call::new((rank as usize, at(0)), &one, data.is_some()).unwrap()
    }

    /// Two nodes of two ranks each, whose clocks have nothing to do with each other.
    fn judged(times: [Times; 4], elsewhere: &[Elsewhere]) -> Option<(u32, u64)> {
        let row = |number: u64| {
            let of = |(rank, (called, data, ended)): (u32, Times)| {
                let ahead = if rank < 2 { 0 } else { 321 };
                let times = (called + ahead, data.map(|data| data + ahead), ended + ahead);
                (rank, call(rank, number, times))
            };
            (0..).zip(times).map(of).collect()
        };
        let calls: Calls = (1..6).map(|at: u32| ((Function(5), at), row(at.into()))).collect();
        let processes = Processes { clocks: &[1, 1, 2, 2], elsewhere };
        let (late, judged) = judge(7, (4, 2), &calls, &processes);
        assert_eq!(judged, 5);
        let late = late?;
        assert!(late.shown_by == ShownBy::Clock && late.hash == 7 && late.collectives == 5);
        Some((late.rank, late.late_ns / 5 / MS))
    }

    fn nowhere() -> Vec<Elsewhere> {
        (0..4).map(|_| Elsewhere::default()).collect()
    }

    #[test]
    fn who_calls_when_the_others_of_its_node_have_data_is_late() {
        let in_time = (10, Some(11), 100);
        let late = [in_time, (60, Some(61), 100), in_time, in_time];
        assert_eq!(judged(late, &nowhere()), Some((1, 49)));
        // Also one that has no proxy at all.
        let late = [in_time, (60, None, 0), in_time, in_time];
        assert_eq!(judged(late, &nowhere()), Some((1, 49)));
        assert_eq!(judged([in_time; 4], &nowhere()), None);
    }

    #[test]
    fn a_neighbour_that_only_receives_is_there_when_it_takes_data() {
        let (mate, last) = (call(0, 1, (10, None, 0)), call(1, 1, (60, None, 0)));
        let (other, far) = (call(2, 1, (10, Some(11), 100)), call(3, 1, (10, None, 0)));
        let at = |ms: u64| Some((1000 + ms) * MS);
        let said = |mate: Call| {
            let host = BTreeMap::from([(0, &mate), (1, &last)]);
            let others = BTreeMap::from([(2, &other), (3, &far)]);
            let elsewhere = nowhere();
            let processes = Processes { clocks: &[1, 1, 2, 2], elsewhere: &elsewhere };
            last_caller(&host, std::iter::once(&others), &processes)
        };
        let ended_ns = at(100);
        assert_eq!(said(Call { taken_ns: at(25), ended_ns, ..mate }), Some((1, 35 * MS)));
        // It may have waited for data: when it came is not known.
        assert_eq!(said(Call { taken_ns: at(61), ended_ns, ..mate }), None);
        assert_eq!(said(Call { ended_ns, ..mate }), None);
    }

    #[test]
    fn a_late_gpu_is_not_said_to_have_called_late() {
        let (in_time, late) = ((10, Some(11), 100), (10, Some(60), 100));
        assert_eq!(judged([in_time, late, in_time, in_time], &nowhere()), None);
        // All call ahead of their GPUs, one of them less: nobody waits for it.
        let ahead = [(10, Some(70), 100), (60, Some(70), 100)];
        assert_eq!(judged([ahead[0], ahead[1], ahead[0], ahead[0]], &nowhere()), None);
        // The late GPU is that of its neighbour: its own call came in time for it.
        let both = [(10, Some(70), 100), (60, Some(61), 100), in_time, in_time];
        assert_eq!(judged(both, &nowhere()), None);
    }

    #[test]
    fn a_rank_of_another_node_that_comes_as_late_leaves_nobody_named() {
        let (in_time, late) = ((10, Some(11), 100), (60, Some(61), 100));
        assert_eq!(judged([in_time, late, late, late], &nowhere()), None);
        // The others were ready 20 ms before, and no more counts.
        let less = (40, Some(41), 100);
        assert_eq!(judged([in_time, late, less, less], &nowhere()), Some((1, 19)));
    }

    #[test]
    fn who_waited_in_another_communicator_is_not_late() {
        let in_time = (10, Some(11), 100);
        let times = [in_time, (60, Some(61), 100), in_time, in_time];
        let mut elsewhere = nowhere();
        elsewhere[1] = Elsewhere::hidden_at((1..6).map(|at| (at * 1000 + 30) * MS), 2);
        assert_eq!(judged(times, &elsewhere), None);
        // Those of the same communicator are no other.
        elsewhere[1] = Elsewhere::hidden_at((1..6).map(|at| (at * 1000 + 30) * MS), 1);
        assert_eq!(judged(times, &elsewhere), Some((1, 49)));
    }

    #[test]
    fn hosts_are_told_apart_by_name_and_clock() {
        let process = |host: &str, offset: u64| {
            let mut one = ProcessRecords::new(String::new());
            one.header = Some(fixture::header(host, 5, 5 + offset));
            one
        };
        let far = 10_000 * MS;
        let all = [process("a", far), process("b", far), process("a", far + MS), process("a", 0)];
        let found = clocks(&all);
        assert_eq!(found[0], found[2]);
        let apart: std::collections::BTreeSet<usize> = found.into_iter().collect();
        assert_eq!(apart.len(), 3);
    }
}
