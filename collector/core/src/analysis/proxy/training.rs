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

/// A longer gap between two calls is no wait: `PyTorch` gives up a collective after 10 minutes (2.2,
/// `torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp`, `kProcessGroupNCCLDefaultTimeout`).
const LONGEST_WAIT_NS: u64 = 600_000_000_000;

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
    /// them; where only calls were recorded, from call to call, pauses included, because a wait looks the same
    /// there. By the host's clock when recording began.
    pub span: Span,
    /// Collectives, sends and receives.
    pub collectives: u64,
    /// Nanoseconds with one of them in flight, in any process of the host; `None` where only calls were recorded.
    pub communication_ns: Option<u64>,
    /// It has all calls that the others have.
    pub is_whole: bool,
}

/// The training steps of all jobs, in order of time.
#[must_use]
pub fn training_steps(processes: &[ProcessRecords]) -> Vec<ProfiledTrainingStep> {
    let clocks = node::clocks(processes);
    let of_leader = |leader: usize| {
        let beside = processes.iter().zip(&clocks).enumerate();
        let beside = beside.filter(|(at, (_, clock))| *at != leader && **clock == clocks[leader]);
        of_process(&processes[leader], beside.map(|(_, (one, _))| one))
    };
    let leaders = leaders(processes).into_iter().take(JOBS);
    let mut all: Vec<ProfiledTrainingStep> = leaders.flat_map(of_leader).collect();
    all.sort_by_key(|one| (one.span.first, one.hash));
    all
}

/// Places of one process of each job, of the job with most calls first. Processes that share communicators are
/// one job, also by way of others.
///
/// It is the first one with about as many calls as any other of the job, so that each analysis asks the same one:
/// seen from another process, the same wait is in another training step.
fn leaders(processes: &[ProcessRecords]) -> Vec<usize> {
    let calls = |one: &ProcessRecords| {
        one.collectives.values().filter(|waits| waits.called.is_some()).take(CALLS).count()
    };
    let counts: Vec<usize> = processes.iter().map(calls).collect();
    let mut jobs: Vec<(BTreeSet<u64>, Vec<usize>)> = Vec::new();
    for at in (0..counts.len()).filter(|at| counts[*at] > 0) {
        let own: BTreeSet<u64> = hashes(&processes[at]).map(|(_, hash)| hash).collect();
        let same = jobs.extract_if(.., |(hashes, _)| !own.is_disjoint(hashes));
        let mut job = (own.clone(), vec![at]);
        for (hashes, members) in same.collect::<Vec<_>>() {
            job.0.extend(hashes);
            job.1.extend(members);
        }
        job.1.sort_unstable();
        jobs.push(job);
    }
    let of_job = |(_, members): (_, Vec<usize>)| {
        let most = members.iter().map(|at| counts[*at]).max()?;
        let has_about_as_many = |at: &usize| counts[*at] >= most - most / FEWER_PARTS;
        Some((most, members.into_iter().find(has_about_as_many)?))
    };
    let mut leaders: Vec<(usize, usize)> = jobs.into_iter().filter_map(of_job).collect();
    leaders.sort_by_key(|(most, leader)| (Reverse(*most), *leader));
    leaders.into_iter().map(|(_, leader)| leader).collect()
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
    fn new<'a>(leader: &ProcessRecords, others: impl Iterator<Item = &'a ProcessRecords>) -> Self {
        let wanted: BTreeSet<u64> = hashes(leader).map(|(_, hash)| hash).collect();
        let mut flights: BTreeMap<(u64, CollectiveKey), Flight> = BTreeMap::new();
        for process in others {
            let numbers: BTreeMap<u32, u64> =
                hashes(process).filter(|(_, hash)| wanted.contains(hash)).collect();
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
        let others = self.0.get(&(hash, waits.key)).filter(|_| sends(waits, called));
        others.map_or(own, |others| own.or(*others))
    }
}

/// Whether it is a collective whose data this process sent.
const fn sends(waits: &CollectiveWaits, called: &profiler::Collective) -> bool {
    waits.moments.first_data_ns > 0 && !called.is_p2p
}

fn of_process<'a>(
    process: &ProcessRecords,
    others: impl Iterator<Item = &'a ProcessRecords>,
) -> Vec<ProfiledTrainingStep> {
    let flights = Flights::new(process, others);
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
    let has_end =
        |at: &usize| collectives.get(*at).is_some_and(|one| one.span.last > one.span.first);
    close_gaps(&mut found, &called, &has_end);
    let named = |one: iteration::Iteration| {
        let hash = hashes.get(one.communicator.0 as usize)?;
        let first = called.get(*one.collectives.first()?)?;
        let has_ends = one.collectives.first().is_some_and(&has_end)
            && one.collectives.last().is_some_and(&has_end);
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

/// Lets a training step of which only calls were recorded last until the next one begins, if that follows at once:
/// nobody knows whether the process waited in between, or paused.
fn close_gaps(
    found: &mut [iteration::Iteration],
    called: &[profiler::Collective],
    has_end: &dyn Fn(&usize) -> bool,
) {
    for at in 1..found.len() {
        let [.., one, next] = &mut found[..=at] else { continue };
        let (Some(last), Some(first)) = (one.collectives.last(), next.collectives.first()) else {
            continue;
        };
        let follows = *first == last + 1 && has_no_hole(&called[..=*first]);
        let is_wait = next.span.first.nanos_since(one.span.last) < LONGEST_WAIT_NS;
        if follows && is_wait && !one.collectives.iter().any(has_end) {
            one.span.last = one.span.last.max(next.span.first);
        }
    }
}

/// Whether no call was missed before the last one of these, by NCCL's own count of its function.
fn has_no_hole(called: &[profiler::Collective]) -> bool {
    let Some((last, before)) = called.split_last() else { return false };
    let is_same = |one: &&profiler::Collective| {
        (one.comm, one.function, one.is_p2p) == (last.comm, last.function, last.is_p2p)
    };
    let before = before.iter().rev().find(is_same);
    before.is_some_and(|before| before.sequence.checked_add(1) == Some(last.sequence))
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
    use crate::decode::profiler::{Communicator, Function, Item, Record, fixture};

    const MS: u64 = 1_000_000;
    /// Longer than a pause between training steps of 100 ms.
    const LATE_NS: u64 = 1500 * MS;

    fn communicator(number: u32, hash: u64, rank: u64) -> Communicator {
        fixture::communicator(number, hash, rank as u32)
    }

    fn begin(live: &mut LiveProfiles, rank: u64, host: &str, communicators: &[u64]) {
        let header = Item::Header(fixture::header(host, 0, 0));
        let of = communicators.iter().zip(1..);
        let of = of.map(|(hash, number)| Item::Communicator(communicator(number, *hash, rank)));
        live.take(rank, "a", 0, std::iter::once(header).chain(of).collect());
    }

    /// Calls alone: three buckets a training step, 100 ms apart, from call `late_from` on so much later. NCCL's
    /// count has a hole before it if so.
    fn call(live: &mut LiveProfiles, rank: u64, comm: u32, calls: u32, late_from: u32, hole: u64) {
        let item = |call: u32| {
            let (late_ns, hole) = if call >= late_from { (LATE_NS, hole) } else { (0, 0) };
            let time_ns = 1 + u64::from(call / 3) * 100 * MS + u64::from(call % 3) * MS;
            Item::Record(Record::Collective(profiler::Collective {
                sequence: u64::from(call) + hole,
                count: [1000, 2000, 500][call as usize % 3],
                tag: 70 + u64::from(call / 3),
                ..fixture::call(comm, 1000 * comm + call + 1, time_ns + late_ns)
            }))
        };
        live.take(rank, "a", 0, (0..calls).map(item).collect());
    }

    /// A rank that calls alone.
    fn caller(live: &mut LiveProfiles, rank: u64, calls: u32, late_from: u32) {
        begin(live, rank, "host", &[9]);
        call(live, rank, 1, calls, late_from, 0);
    }

    /// Nanoseconds that each training step takes.
    fn lengths(live: &LiveProfiles) -> Vec<u64> {
        training_steps(&live.records()).iter().map(|one| one.span.length_ns()).collect()
    }

    /// Training steps that take longer than others.
    fn slow(live: &LiveProfiles) -> Vec<usize> {
        let lengths = lengths(live);
        (0..lengths.len()).filter(|at| lengths[*at] > 1000 * MS).collect()
    }

    #[test]
    fn calls_alone_show_training_steps_once_for_all_ranks() {
        let mut live = LiveProfiles::default();
        (0..3).for_each(|rank| caller(&mut live, rank, 60, 60));
        let found = training_steps(&live.records());
        assert_eq!(found.len(), 20);
        let one = &found[7];
        assert_eq!((one.hash, one.number, one.tag, one.collectives), (9, 7, Some(77), 3));
        assert_eq!((one.span.length_ns(), one.communication_ns), (100 * MS, None));
        assert!(one.is_whole);
    }

    #[test]
    fn ranks_are_one_job_also_by_way_of_others() {
        let mut live = LiveProfiles::default();
        // Tensor parallel in pairs, data parallel across them; the last one calls most.
        let communicators = [[1, 11], [1, 12], [2, 11], [2, 12]];
        for (communicators, rank) in communicators.iter().zip(0..) {
            begin(&mut live, rank, "host", communicators);
            call(&mut live, rank, 1, if rank == 3 { 63 } else { 60 }, 60, 0);
        }
        assert_eq!(lengths(&live).len(), 20);
    }

    #[test]
    fn a_wait_between_calls_is_a_slow_training_step_and_no_pause() {
        // Before the first call of step 10, as a process waits that reads its loss, and before its second one.
        for (late_from, slow_one) in [(30, 9), (31, 10)] {
            let mut live = LiveProfiles::default();
            caller(&mut live, 0, 60, late_from);
            assert_eq!(slow(&live), [slow_one]);
        }
    }

    #[test]
    fn what_was_not_recorded_in_between_makes_no_slow_training_step() {
        let mut live = LiveProfiles::default();
        begin(&mut live, 0, "host", &[9]);
        call(&mut live, 0, 1, 60, 30, 12);
        assert_eq!(slow(&live), [0; 0]);
    }

    #[test]
    fn the_same_process_is_asked_whoever_is_ahead() {
        for (calls, of_other) in [(30, 31), (31, 30)] {
            let mut live = LiveProfiles::default();
            caller(&mut live, 0, calls, 15);
            let alone = lengths(&live);
            caller(&mut live, 1, of_other, 60);
            assert_eq!(lengths(&live), alone);
        }
        // One that has just come knows of no training step before.
        let mut live = LiveProfiles::default();
        caller(&mut live, 0, 6, 60);
        caller(&mut live, 1, 60, 60);
        assert_eq!(lengths(&live).len(), 20);
    }

    /// Calls with an operation each: two buckets a training step, 100 ms apart, and if so a third one without. Rank
    /// 0 comes late to step 10, which the others begin in time.
    fn with_operations(live: &mut LiveProfiles, rank: u64, host: &str, has_third: bool) {
        begin(live, rank, host, &[9]);
        for bucket in 0..40_u32 {
            let (iteration, place) = (bucket / 2, bucket % 2);
            let is_waited_for = bucket == 20 && rank > 0;
            let late_ns = if iteration < 10 || is_waited_for { 0 } else { LATE_NS };
            let time_ns = 1 + u64::from(iteration) * 100 * MS + u64::from(place) * 2 * MS + late_ns;
            let lasted_ns = MS + if is_waited_for { LATE_NS } else { 0 };
            let number = 3 * iteration + place + 1;
            let mut items = fixture::collective(1, number, time_ns, (5, lasted_ns)).to_vec();
            if let Item::Record(Record::Collective(called)) = &mut items[0] {
                called.count = [1000, 500][place as usize];
                called.sequence = bucket.into();
            }
            if has_third && place == 1 {
                items.push(Item::Record(Record::Collective(profiler::Collective {
                    function: Function(4),
                    ..fixture::call(1, number + 1, time_ns + 2 * MS)
                })));
            }
            live.take(rank, "a", 0, items);
        }
        live.end(rank);
    }

    #[test]
    fn the_training_step_of_the_late_rank_itself_is_slow_too() {
        let mut live = LiveProfiles::default();
        (0..3).for_each(|rank| with_operations(&mut live, rank, "host", false));
        assert_eq!(slow(&live), [10]);
        let found = training_steps(&live.records());
        assert!(found[10].communication_ns > Some(LATE_NS));
        // Alone it cannot be told from a pause, and clocks of other hosts are not compared.
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", false);
        assert_eq!(slow(&live), [0; 0]);
        with_operations(&mut live, 1, "other", false);
        assert_eq!(slow(&live), [0; 0]);
    }

    #[test]
    fn a_pause_after_a_call_without_operations_is_no_slow_training_step() {
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", true);
        let found = training_steps(&live.records());
        assert!(found.len() >= 19 && found[5].collectives == 3);
        assert_eq!(slow(&live), [0; 0]);
        // Nor is it known how long the last one was in flight.
        assert_eq!(found[5].communication_ns, None);
    }
}
