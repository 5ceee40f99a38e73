//! Training steps from the calls that a process recorded, where no packet shows them.
//!
//! Repetition is found as in packets (`analysis/iteration`), in one process of each job (`leader.rs`).

use std::collections::BTreeMap;

use super::calls::{LATEST_NS, hashes, latest};
use super::flight::Flights;
use super::leader::leaders;
use super::{ProcessRecords, node};
use crate::analysis::collective::Collective;
use crate::analysis::iteration;
use crate::decode::profiler::{self, Function, Header};
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

/// A longer gap between two calls is no wait: by default, `PyTorch` gives up a collective after 10 minutes (2.2,
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
        let follows = *first == last + 1 && has_no_hole(called, &next.collectives);
        let is_wait = next.span.first.nanos_since(one.span.last) < LONGEST_WAIT_NS;
        // Times of calls and of data are not compared: a process may call long before its GPU comes to it.
        let has_calls_only = !one.collectives.iter().chain([first]).any(has_end);
        if follows && is_wait && has_calls_only {
            one.span.last = one.span.last.max(next.span.first);
        }
    }
}

/// Whether no call was missed before those at `places`, by NCCL's own count of a function. It counts neither sends
/// and receives nor calls in CUDA graphs.
fn has_no_hole(called: &[profiler::Collective], places: &[usize]) -> bool {
    let counted = places.iter().find(|at| called.get(**at).is_some_and(|one| !one.is_p2p));
    let upto = counted.and_then(|at| called.get(..=*at)).and_then(|upto| upto.split_last());
    let Some((last, before)) = upto else { return false };
    let is_same = |one: &&profiler::Collective| {
        (one.comm, one.function, one.is_p2p) == (last.comm, last.function, false)
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
            call(&mut live, rank, 1, if rank == 3 { 63 } else { 60 }, 63, 0);
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
            caller(&mut live, 1, of_other, 15);
            assert_eq!(lengths(&live), alone);
        }
    }

    #[test]
    fn who_knows_few_training_steps_is_not_asked() {
        // One that has just come.
        let mut live = LiveProfiles::default();
        caller(&mut live, 0, 18, 60);
        caller(&mut live, 1, 60, 60);
        assert_eq!(lengths(&live).len(), 20);
        // One that calls now and then.
        let mut live = LiveProfiles::default();
        begin(&mut live, 0, "host", &[9]);
        for call in 0..5 {
            let one = fixture::call(1, call + 1, 1 + u64::from(call) * 500 * MS);
            live.take(0, "a", 0, vec![Item::Record(Record::Collective(one))]);
        }
        caller(&mut live, 1, 60, 60);
        assert_eq!(lengths(&live).len(), 20);
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Calls {
        /// Two buckets with an operation each.
        Plain,
        /// A third call without an operation.
        Third,
        /// In a CUDA graph: NCCL does not go on counting.
        Graph,
        /// The first ten training steps have no operations: events were turned on then.
        LateEvents,
    }

    /// Calls in training steps of 100 ms. Rank 0 comes late to step 10, which the others begin in time.
    fn with_operations(live: &mut LiveProfiles, rank: u64, host: &str, calls: Calls) {
        begin(live, rank, host, &[9]);
        for bucket in 0..40_u32 {
            let (iteration, place) = (bucket / 2, bucket % 2);
            let is_waited_for = bucket == 20 && rank > 0;
            let late_ns = if iteration < 10 || is_waited_for { 0 } else { LATE_NS };
            let time_ns = 1 + u64::from(iteration) * 100 * MS + u64::from(place) * 2 * MS + late_ns;
            let lasted_ns = MS + if is_waited_for { LATE_NS } else { 0 };
            let number = 3 * iteration + place + 1;
            let count = if calls == Calls::Graph { 1 } else { bucket };
            let mut items = fixture::collective(1, number, time_ns, (5, lasted_ns)).to_vec();
            for item in &mut items {
                match item {
                    Item::Record(Record::Collective(called)) => {
                        called.count = [1000, 500][place as usize];
                        called.sequence = count.into();
                    }
                    Item::Record(Record::OperationStart(start)) => start.sequence = count,
                    _ => {}
                }
            }
            if calls == Calls::LateEvents && iteration < 10 {
                items.truncate(1);
            }
            if calls == Calls::Third && place == 1 {
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
        (0..3).for_each(|rank| with_operations(&mut live, rank, "host", Calls::Plain));
        assert_eq!(slow(&live), [10]);
        let found = training_steps(&live.records());
        assert!(found[10].communication_ns > Some(LATE_NS));
        // Alone it cannot be told from a pause, and clocks of other hosts are not compared.
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", Calls::Plain);
        assert_eq!(slow(&live), [0; 0]);
        with_operations(&mut live, 1, "other", Calls::Plain);
        assert_eq!(slow(&live), [0; 0]);
    }

    #[test]
    fn a_pause_after_a_call_without_operations_is_no_slow_training_step() {
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", Calls::Third);
        let found = training_steps(&live.records());
        assert!(found.len() >= 19 && found[5].collectives == 3);
        assert_eq!(slow(&live), [0; 0]);
        // Nor is it known how long the last one was in flight.
        assert_eq!(found[5].communication_ns, None);
    }

    #[test]
    fn counts_that_repeat_join_nothing() {
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", Calls::Graph);
        let alone = lengths(&live);
        assert_eq!(alone.len(), 20);
        with_operations(&mut live, 1, "host", Calls::Graph);
        assert_eq!(lengths(&live), alone);
    }

    #[test]
    fn times_of_calls_and_of_data_are_not_compared() {
        let mut live = LiveProfiles::default();
        with_operations(&mut live, 0, "host", Calls::LateEvents);
        assert_eq!(lengths(&live).len(), 20);
        assert_eq!(slow(&live), [0; 0]);
    }
}
