//! Training steps from the calls that a process recorded, where no packet shows them.
//!
//! The calls of one rank repeat as those of all do, so one process of each job is asked. Repetition is found as
//! in packets (`analysis/iteration`). That process may be the one that the others wait for: a collective begins
//! when the first process of the host begins it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::node;
use super::{CollectiveKey, CollectiveWaits, CommunicatorWaits, ProcessRecords};
use crate::analysis::collective::Collective;
use crate::analysis::iteration;
use crate::decode::profiler::{self, Function, Header};
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

/// Calls that are looked at, the latest ones.
const CALLS: usize = 4096;

/// Times of a monotonic clock that make sense, in nanoseconds: four years. Others are invented, and sums of
/// them would overflow.
const LATEST_NS: u64 = 1 << 57;

/// A process has about as many calls as another if it lacks at most one in so many.
const FEWER_PARTS: usize = 10;

/// Jobs of a host.
const JOBS: usize = 16;

/// A training step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfiledTrainingStep {
    /// Hash of the communicator whose calls repeat with it.
    pub hash: u64,
    /// Number from 0 within the window.
    pub number: u32,
    /// What the application calls it, if it does.
    pub tag: Option<u64>,
    /// From the first data of its first collective to that of the next training step, without a pause between
    /// them; where only calls were recorded, from call to call, because a wait looks like a pause there. By the
    /// host's clock when recording began.
    pub span: Span,
    /// Collectives, sends and receives.
    pub collectives: u64,
    /// Nanoseconds with one of them in flight; `None` where only calls were recorded.
    pub communication_ns: Option<u64>,
    /// It has all calls that the others have.
    pub is_whole: bool,
}

/// The training steps of all jobs, in order of time.
#[must_use]
pub fn training_steps(processes: &[ProcessRecords]) -> Vec<ProfiledTrainingStep> {
    let clocks = node::clocks(processes);
    let of_leader = |(clock, leader): (usize, &ProcessRecords)| {
        let beside = processes.iter().zip(&clocks).filter(|(_, its)| **its == clock);
        of_process(leader, &Flights::new(leader, beside.map(|(one, _)| one)))
    };
    let leaders = leaders(processes, &clocks).into_iter().take(JOBS);
    let mut all: Vec<ProfiledTrainingStep> = leaders.flat_map(of_leader).collect();
    all.sort_by_key(|one| (one.span.first, one.hash));
    all
}

/// One process of each job, and its clock: those that share a communicator are one job. It is the first one that
/// has about as many calls as any other. The others call earlier or later than it, but the same one is asked in
/// each analysis: by another one's calls, the same wait is in another training step.
fn leaders<'a>(
    processes: &'a [ProcessRecords],
    clocks: &[usize],
) -> Vec<(usize, &'a ProcessRecords)> {
    let calls = |one: &ProcessRecords| {
        one.collectives.values().filter(|waits| waits.called.is_some()).count()
    };
    let counts: Vec<usize> = processes.iter().map(calls).collect();
    let mut fullest: Vec<usize> = (0..counts.len()).filter(|at| counts[*at] > 0).collect();
    fullest.sort_by_key(|at| Reverse(counts[*at]));
    let of = |at: usize| hashes(&processes[at]).map(|(_, hash)| hash);
    let mut known: BTreeSet<u64> = BTreeSet::new();
    let mut leaders = Vec::new();
    for at in fullest {
        let own: BTreeSet<u64> = of(at).collect();
        if own.is_disjoint(&known) {
            let is_alike = |other: &usize| {
                counts[*other] >= counts[at] - counts[at] / FEWER_PARTS
                    && of(*other).any(|hash| own.contains(&hash))
            };
            let leader = (0..counts.len()).find(is_alike).unwrap_or(at);
            leaders.push((clocks[leader], &processes[leader]));
        }
        known.extend(own);
    }
    leaders
}

/// Communicators of a process by their numbers, each with its hash.
fn hashes(process: &ProcessRecords) -> impl Iterator<Item = (u32, u64)> {
    let hash = |waits: &CommunicatorWaits| waits.of.as_ref()?.hash;
    process.communicators.iter().filter_map(move |(number, waits)| Some((*number, hash(waits)?)))
}

/// The latest calls of a process.
fn latest(
    process: &ProcessRecords,
) -> impl Iterator<Item = (&CollectiveWaits, profiler::Collective)> {
    let is_sane = |called: &profiler::Collective| called.time_ns < LATEST_NS;
    let called = move |waits: &CollectiveWaits| waits.called.filter(is_sane);
    let latest = process.collectives.values().rev().take(CALLS);
    latest.filter_map(move |waits| Some((waits, called(waits)?)))
}

/// When a call was in flight, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy)]
struct Flight {
    first_ns: u64,
    last_ns: u64,
}

impl Flight {
    /// In one process. It ends where it begins if only the call was recorded.
    fn new(waits: &CollectiveWaits, called: &profiler::Collective) -> Self {
        let moments = &waits.moments;
        let is_sane = |time: &u64| (1..LATEST_NS).contains(time);
        let first = [moments.first_data_ns, moments.began_ns, called.time_ns];
        let first_ns = first.into_iter().find(is_sane).unwrap_or(0);
        let ended_ns = Some(moments.ended_ns).filter(is_sane).unwrap_or(0);
        Self { first_ns, last_ns: ended_ns.max(first_ns) }
    }

    fn or(self, other: Self) -> Self {
        Self {
            first_ns: self.first_ns.min(other.first_ns),
            last_ns: self.last_ns.max(other.last_ns),
        }
    }
}

/// When collectives of a process were in flight in others that share its clock, by the data that they sent: a
/// process may call long before its GPU comes to it. A send and its receive are two calls.
struct Flights(BTreeMap<(u64, CollectiveKey), Flight>);

impl Flights {
    fn new<'a>(leader: &ProcessRecords, beside: impl Iterator<Item = &'a ProcessRecords>) -> Self {
        let wanted: BTreeSet<u64> = hashes(leader).map(|(_, hash)| hash).collect();
        let mut flights: BTreeMap<(u64, CollectiveKey), Flight> = BTreeMap::new();
        for process in beside.filter(|one| !std::ptr::eq(*one, leader)) {
            let numbers: BTreeMap<u32, u64> =
                hashes(process).filter(|(_, hash)| wanted.contains(hash)).collect();
            let sends = |waits: &CollectiveWaits, called: &profiler::Collective| {
                waits.moments.first_data_ns > 0 && !called.is_p2p
            };
            for (waits, called) in latest(process).filter(|(waits, called)| sends(waits, called)) {
                let Some(hash) = numbers.get(&called.comm) else { continue };
                let flight = Flight::new(waits, &called);
                let known = flights.entry((*hash, waits.key)).or_insert(flight);
                *known = known.or(flight);
            }
        }
        Self(flights)
    }

    /// When a call was in flight in any process.
    fn of(&self, hash: u64, waits: &CollectiveWaits, called: &profiler::Collective) -> Flight {
        let own = Flight::new(waits, called);
        let is_alike = waits.moments.first_data_ns > 0 && !called.is_p2p;
        let others = self.0.get(&(hash, waits.key)).filter(|_| is_alike);
        others.map_or(own, |others| own.or(*others))
    }
}

fn of_process(process: &ProcessRecords, flights: &Flights) -> Vec<ProfiledTrainingStep> {
    let is_sane =
        |header: &&Header| header.monotonic_ns < LATEST_NS && header.realtime_ns < u64::MAX / 4;
    let Some(header) = process.header.as_ref().filter(is_sane) else { return Vec::new() };
    let numbers: BTreeMap<u32, (u32, u64)> =
        hashes(process).zip(0..).map(|((number, hash), at)| (number, (at, hash))).collect();
    let wall = |ns: u64| Timestamp::from_nanos(header.wall_ns(ns));
    let mut calls: Vec<(Collective, profiler::Collective)> = latest(process)
        .filter_map(|(waits, called)| {
            let (id, hash) = *numbers.get(&called.comm)?;
            let flight = flights.of(hash, waits, &called);
            let span = Span { first: wall(flight.first_ns), last: wall(flight.last_ns) };
            Some((collective(&called, CommunicatorId(id), span), called))
        })
        .collect();
    calls.sort_by_key(|(one, called)| (one.span.first, called.number));
    let (collectives, called): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    let hashes: Vec<u64> = numbers.values().map(|(_, hash)| *hash).collect();
    let group: Vec<CommunicatorId> = (0..numbers.len() as u32).map(CommunicatorId).collect();
    let mut found = iteration::of_group(&collectives, &group);
    // Events may have been recorded for a while only.
    let has_end = |at: usize| collectives.get(at).is_some_and(|one| one.span.last > one.span.first);
    close_gaps(&mut found, &has_end);
    let named = |one: iteration::Iteration| {
        let hash = hashes.get(one.communicator.0 as usize)?;
        let has_ends = one.collectives.iter().any(|at| has_end(*at));
        let first = called.get(*one.collectives.first()?)?;
        Some(ProfiledTrainingStep {
            hash: *hash,
            number: one.number,
            tag: Some(first.tag).filter(|tag| *tag != 0),
            span: one.span,
            collectives: one.collectives.len() as u64,
            communication_ns: has_ends.then_some(one.communication_ns),
            is_whole: one.is_whole,
        })
    };
    found.into_iter().filter_map(named).collect()
}

/// Lets a training step last until the next one begins, if no other call is between them and the end of its last
/// call was not recorded: nobody knows whether the process waited for it, or paused.
fn close_gaps(found: &mut [iteration::Iteration], has_end: &dyn Fn(usize) -> bool) {
    for at in 1..found.len() {
        let [.., one, next] = &mut found[..=at] else { continue };
        let Some(last) = one.collectives.last().filter(|last| !has_end(**last)) else { continue };
        if next.collectives.first() == Some(&(last + 1)) {
            one.span.last = one.span.last.max(next.span.first);
        }
    }
}

/// A call, as packets would show it.
fn collective(
    called: &profiler::Collective,
    communicator: CommunicatorId,
    span: Span,
) -> Collective {
    let size = size(called.datatype);
    Collective {
        communicator,
        sequence: called.sequence,
        is_counted_from_init: called.number == 1,
        kind: kind(called.function),
        alternatives: Vec::new(),
        algorithm: match called.algorithm {
            1 => Algorithm::Tree,
            2 => Algorithm::Ring,
            _ => Algorithm::Unknown,
        },
        protocol: Protocol::Unknown,
        bytes: Some(called.count.saturating_mul(size)),
        is_estimated: false,
        ring_order: None,
        channels: u32::from(called.channels),
        messages: 1,
        span,
        parts: Vec::new(),
        ranks: Vec::new(),
        transfers: Vec::new(),
        grade: Grade::Proven,
        evidence: Vec::new(),
    }
}

fn kind(function: Function) -> CollectiveKind {
    match function.name() {
        Some("Broadcast") => CollectiveKind::Broadcast,
        Some("Reduce") => CollectiveKind::Reduce,
        Some("AllGather") => CollectiveKind::AllGather,
        Some("ReduceScatter") => CollectiveKind::ReduceScatter,
        Some("AllReduce") => CollectiveKind::AllReduce,
        Some("AlltoAll") => CollectiveKind::AllToAll,
        Some("SendRecv" | "Send" | "Recv") => CollectiveKind::SendRecv,
        _ => CollectiveKind::Unknown,
    }
}

/// Bytes of an element by the place of its type in NCCL's enumeration, plus one (`nccl.h.in`). Steps are
/// found by equal sizes: an unknown type is as good as any.
const fn size(datatype: u8) -> u64 {
    match datatype {
        3 | 4 | 8 => 4,
        5 | 6 | 9 => 8,
        7 | 10 => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::proxy::LiveProfiles;
    use crate::decode::profiler::{Header, Item, Record, fixture};

    fn header() -> Header {
        let mut words = [0_u64; 16];
        words[0] = u64::from_le_bytes(*b"RAILPROF");
        words[1] = 1;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = None;
        let _ = profiler::read_ring(&bytes, &mut |item| {
            if let Item::Header(header) = item {
                found = Some(header);
            }
        });
        found.unwrap()
    }

    /// So many calls of rank `number`: three buckets a training step, 100 ms apart, and before call `late.0` so
    /// much more.
    fn process(number: u64, live: &mut LiveProfiles, calls: u32, late: (u32, u64)) {
        let communicator = fixture::communicator(1, 9, number as u32);
        let mut items = vec![Item::Header(header()), Item::Communicator(communicator)];
        for call in 0..calls {
            let late_ns = if call >= late.0 { late.1 } else { 0 };
            let time_ns = 1 + u64::from(call / 3) * 100_000_000 + u64::from(call % 3) * 1_000_000;
            items.push(Item::Record(Record::Collective(profiler::Collective {
                sequence: u64::from(call),
                count: [1000, 2000, 500][call as usize % 3],
                tag: 70 + u64::from(call / 3),
                ..fixture::call(1, call + 1, time_ns + late_ns)
            })));
        }
        live.take(number, "a", 0, items);
    }

    /// Nanoseconds that each training step takes.
    fn lengths(live: &LiveProfiles) -> Vec<u64> {
        training_steps(&live.records()).iter().map(|one| one.span.length_ns()).collect()
    }

    #[test]
    fn calls_alone_show_training_steps_once_for_all_ranks() {
        let mut live = LiveProfiles::default();
        (0..3).for_each(|number| process(number, &mut live, 60, (0, 0)));
        let found = training_steps(&live.records());
        assert_eq!(found.len(), 20);
        let one = &found[7];
        assert_eq!((one.hash, one.number, one.tag, one.collectives), (9, 7, Some(77), 3));
        assert_eq!((one.span.length_ns(), one.communication_ns), (100_000_000, None));
        assert!(one.is_whole);
    }

    #[test]
    fn a_wait_between_calls_is_a_slow_training_step_and_no_pause() {
        // Before the first call of step 10, as a process waits that reads its loss, and before its second one.
        for first in [30, 31] {
            let mut live = LiveProfiles::default();
            process(0, &mut live, 60, (first, 1_500_000_000));
            let lengths = lengths(&live);
            let slow: Vec<usize> =
                (0..lengths.len()).filter(|at| lengths[*at] > 1_000_000_000).collect();
            assert_eq!(slow, [(first as usize - 1) / 3], "{lengths:?}");
        }
    }

    #[test]
    fn the_same_process_is_asked_while_others_are_ahead() {
        let late = (30, 1_500_000_000);
        let mut alone = LiveProfiles::default();
        process(0, &mut alone, 30, late);
        let mut live = LiveProfiles::default();
        process(0, &mut live, 30, late);
        // It waits for rank 0 in the next training step.
        process(1, &mut live, 31, (0, 0));
        assert_eq!(lengths(&live), lengths(&alone));
        // One that has just come knows of no training step before.
        process(2, &mut alone, 60, (0, 0));
        assert_eq!(lengths(&alone).len(), 20);
    }

    /// Calls of rank `number` with an operation each: two buckets a training step, 100 ms apart. Rank 0 comes
    /// 1.5 s late to call 20, which the others begin in time.
    fn with_operations(number: u64, live: &mut LiveProfiles) {
        const LATE_NS: u64 = 1_500_000_000;
        let communicator = fixture::communicator(1, 9, number as u32);
        live.take(number, "a", 0, vec![Item::Header(header()), Item::Communicator(communicator)]);
        for call in 0..40_u32 {
            let is_waited_for = call == 20 && number > 0;
            let late_ns = if call < 20 || is_waited_for { 0 } else { LATE_NS };
            let time_ns = 1 + u64::from(call / 2) * 100_000_000 + u64::from(call % 2) * 2_000_000;
            let lasted_ns = 1_000_000 + if is_waited_for { LATE_NS } else { 0 };
            let items = fixture::collective(1, call + 1, time_ns + late_ns, (5, lasted_ns));
            live.take(
                number,
                "a",
                0,
                items.map(|item| with_count(item, [1000, 500][call as usize % 2])).to_vec(),
            );
        }
        live.end(number);
    }

    fn with_count(item: Item, count: u64) -> Item {
        match item {
            Item::Record(Record::Collective(one)) => {
                Item::Record(Record::Collective(profiler::Collective { count, ..one }))
            }
            other => other,
        }
    }

    #[test]
    fn the_training_step_of_the_late_rank_itself_is_slow_too() {
        let mut live = LiveProfiles::default();
        (0..3).for_each(|number| with_operations(number, &mut live));
        let of_all = lengths(&live);
        let slow: Vec<usize> = (0..of_all.len()).filter(|at| of_all[*at] > 1_000_000_000).collect();
        assert_eq!(slow, [10], "{of_all:?}");
        // Alone it cannot be told from a pause.
        let mut live = LiveProfiles::default();
        with_operations(0, &mut live);
        let of_one = lengths(&live);
        assert!(of_one.iter().all(|length| *length < 200_000_000), "{of_one:?}");
    }
}
