//! Training steps from the calls that a process recorded, where no packet shows them.
//!
//! The calls of one rank repeat as those of all do, so one process of each job is asked: that with most
//! calls. Repetition is found as in packets (`analysis/iteration`).

use std::collections::{BTreeMap, BTreeSet};

use super::{CollectiveWaits, ProcessRecords};
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
    /// From the first data of its first collective to that of the next training step; where only calls were
    /// recorded, from call to call. By the host's clock when recording began.
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
    let mut all: Vec<ProfiledTrainingStep> =
        leaders(processes).into_iter().take(JOBS).flat_map(of_process).collect();
    all.sort_by_key(|one| (one.span.first, one.hash));
    all
}

/// One process of each job: those that share a communicator are one job.
fn leaders(processes: &[ProcessRecords]) -> Vec<&ProcessRecords> {
    let calls = |one: &ProcessRecords| {
        one.collectives.values().filter(|waits| waits.called.is_some()).count()
    };
    let mut sorted: Vec<(usize, &ProcessRecords)> =
        processes.iter().map(|one| (calls(one), one)).filter(|(calls, _)| *calls > 0).collect();
    sorted.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut known: BTreeSet<u64> = BTreeSet::new();
    let mut leaders = Vec::new();
    for (_, process) in sorted {
        let of = process.communicators.values().filter_map(|waits| waits.of.as_ref());
        let hashes: Vec<u64> = of.filter_map(|of| of.hash).collect();
        if hashes.iter().all(|hash| !known.contains(hash)) {
            leaders.push(process);
        }
        known.extend(hashes);
    }
    leaders
}

fn of_process(process: &ProcessRecords) -> Vec<ProfiledTrainingStep> {
    let is_sane =
        |header: &&Header| header.monotonic_ns < LATEST_NS && header.realtime_ns < u64::MAX / 4;
    let Some(header) = process.header.as_ref().filter(is_sane) else { return Vec::new() };
    let numbers: BTreeMap<u32, (u32, u64)> = process
        .communicators
        .iter()
        .filter_map(|(number, waits)| Some((*number, waits.of.as_ref()?.hash?)))
        .zip(0..)
        .map(|((number, hash), at)| (number, (at, hash)))
        .collect();
    let mut calls: Vec<(Collective, profiler::Collective)> = process
        .collectives
        .values()
        .rev()
        .take(CALLS)
        .filter_map(|waits| {
            let called = waits.called.filter(|called| called.time_ns < LATEST_NS)?;
            let (id, _) = *numbers.get(&called.comm)?;
            let wall = |ns: u64| Timestamp::from_nanos(header.wall_ns(ns));
            Some((collective(waits, &called, CommunicatorId(id), &wall), called))
        })
        .collect();
    calls.sort_by_key(|(one, called)| (one.span.first, called.number));
    let (collectives, called): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    let hashes: Vec<u64> = numbers.values().map(|(_, hash)| *hash).collect();
    let group: Vec<CommunicatorId> = (0..numbers.len() as u32).map(CommunicatorId).collect();
    let has_ends = collectives.iter().any(|one| one.span.last > one.span.first);
    let named = |one: iteration::Iteration| {
        let hash = hashes.get(one.communicator.0 as usize)?;
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
    iteration::of_group(&collectives, &group).into_iter().filter_map(named).collect()
}

/// A call, as packets would show it.
fn collective(
    waits: &CollectiveWaits,
    called: &profiler::Collective,
    communicator: CommunicatorId,
    wall: &dyn Fn(u64) -> Timestamp,
) -> Collective {
    let moments = &waits.moments;
    let first = [moments.first_data_ns, moments.began_ns, called.time_ns];
    let is_sane = |time: &u64| (1..LATEST_NS).contains(time);
    let first = first.into_iter().find(is_sane).unwrap_or(0);
    let last = Some(moments.ended_ns).filter(is_sane).unwrap_or(0).max(first);
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
        span: Span { first: wall(first), last: wall(last) },
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

    /// Calls of a process: three buckets a training step, 100 ms apart.
    fn process(number: u64, live: &mut LiveProfiles) {
        let communicator = fixture::communicator(1, 9, number as u32);
        let mut items = vec![Item::Header(header()), Item::Communicator(communicator)];
        for call in 0..60_u32 {
            let time_ns = 1 + u64::from(call / 3) * 100_000_000 + u64::from(call % 3) * 1_000_000;
            items.push(Item::Record(Record::Collective(profiler::Collective {
                sequence: u64::from(call),
                count: [1000, 2000, 500][call as usize % 3],
                tag: 70 + u64::from(call / 3),
                ..fixture::call(1, call + 1, time_ns)
            })));
        }
        live.take(number, "a", 0, items);
    }

    #[test]
    fn calls_alone_show_training_steps_once_for_all_ranks() {
        let mut live = LiveProfiles::default();
        (0..3).for_each(|number| process(number, &mut live));
        let found = training_steps(&live.records());
        assert_eq!(found.len(), 20);
        let one = &found[7];
        assert_eq!((one.hash, one.number, one.tag, one.collectives), (9, 7, Some(77), 3));
        assert_eq!((one.span.length_ns(), one.communication_ns), (100_000_000, None));
        assert!(one.is_whole);
    }
}
