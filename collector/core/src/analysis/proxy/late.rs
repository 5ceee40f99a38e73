//! Which rank the others waited for, from the waits of all ranks of a communicator.
//!
//! In a collective everybody waits for the late rank, and it for nobody: its receives find their data
//! there. So a rank's lateness is what it waited less than the others: their lower median, less its own.
//! A rank whose GPU is late has its first send enqueued in time and waits for the GPU; one that enqueues
//! late has operations that are shorter than those of the others. Loss and congestion hold up everybody,
//! also the rank behind: no rank waits much less, and none is named.

use std::collections::BTreeMap;

use super::{CollectiveKey, CollectiveWaits, ProcessRecords};
use crate::decode::profiler::Function;

/// Collectives in which all ranks of a ring do the same: AllGather, ReduceScatter, AllReduce. A root
/// waits for nobody, nor do the leaves of a tree for the same as others.
const IS_EQUAL: [Function; 3] = [Function(3), Function(4), Function(5)];
/// Least part of the collectives' time that the others waited: one in so many.
const PART: u64 = 10;
/// Least lateness in a collective, in nanoseconds: less is the proxies' own polling.
const LEAST_NS: u64 = 1_000_000;
/// Collectives in which a rank must be late.
const LEAST_COLLECTIVES: u64 = 3;
/// How many times later than any other rank it must be.
const FACTOR: u64 = 3;

/// What makes a rank late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// Its GPU had the data late.
    Gpu,
    /// It enqueued late.
    Enqueue,
    /// The records do not show it.
    Unknown,
}

/// A rank that the others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// Hash of the communicator.
    pub hash: u64,
    /// The rank.
    pub rank: u32,
    /// Collectives in which it was late.
    pub collectives: u64,
    /// Collectives that were recorded by all ranks.
    pub judged: u64,
    /// Nanoseconds that the others waited for it, in all of them.
    pub late_ns: u64,
    /// What makes it late, in most of them.
    pub why: Lateness,
}

/// What each rank waited for in a collective.
type Row = BTreeMap<u32, CollectiveWaits>;

/// Ranks that the others waited for, one a communicator at most. Every rank must have recorded.
#[must_use]
pub fn late_ranks(processes: &[ProcessRecords]) -> Vec<Late> {
    let mut rows: BTreeMap<u64, (u32, BTreeMap<CollectiveKey, Row>)> = BTreeMap::new();
    for process in processes {
        let equal = process.collectives.values().filter(|one| IS_EQUAL.contains(&one.key.0));
        for waits in equal.filter(|one| one.is_ring) {
            let of = process.communicators.get(&waits.comm).and_then(|comm| comm.of.as_ref());
            let known = of.and_then(|of| Some((of.hash?, of.rank?, of.ranks?)));
            let Some((hash, rank, ranks)) = known.filter(|(_, rank, ranks)| rank < ranks) else {
                continue;
            };
            let (_, collectives) = rows.entry(hash).or_insert((ranks, BTreeMap::new()));
            collectives.entry(waits.key).or_default().insert(rank, *waits);
        }
    }
    rows.into_iter().filter_map(|(hash, (ranks, rows))| judge(hash, ranks, &rows)).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    collectives: u64,
    late_ns: u64,
    gpu_ns: u64,
    enqueue_ns: u64,
}

fn judge(hash: u64, ranks: u32, rows: &BTreeMap<CollectiveKey, Row>) -> Option<Late> {
    let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
    let (mut judged, mut lasted) = (0_u64, 0_u64);
    for row in rows.values() {
        // Of two ranks, each waits for the other in turn.
        if row.len() < 3 || u32::try_from(row.len()).ok() != Some(ranks) {
            continue;
        }
        judged = judged.saturating_add(1);
        lasted = lasted.saturating_add(row.values().map(|one| one.lasted_ns).max().unwrap_or(0));
        for (rank, waits) in row {
            let others = |value: fn(&CollectiveWaits) -> u64| median_without(row, *rank, value);
            let late = others(|one| one.received_ns).saturating_sub(waits.received_ns);
            if late < LEAST_NS {
                continue;
            }
            let tally = tallies.entry(*rank).or_default();
            tally.collectives = tally.collectives.saturating_add(1);
            tally.late_ns = tally.late_ns.saturating_add(late);
            let gpu = waits.first_gpu_ns.saturating_sub(others(|one| one.first_gpu_ns));
            let short = others(|one| one.lasted_ns).saturating_sub(waits.lasted_ns);
            if gpu >= late / 2 {
                tally.gpu_ns = tally.gpu_ns.saturating_add(late);
            } else if short >= late / 2 {
                tally.enqueue_ns = tally.enqueue_ns.saturating_add(late);
            }
        }
    }
    let (rank, worst) = tallies.iter().max_by_key(|(_, tally)| tally.late_ns)?;
    let others = tallies.iter().filter(|(other, _)| *other != rank);
    let next = others.map(|(_, tally)| tally.late_ns).max().unwrap_or(0);
    let is_named = worst.collectives >= LEAST_COLLECTIVES
        && worst.late_ns >= next.saturating_mul(FACTOR)
        && worst.late_ns >= lasted / PART;
    let why = if worst.gpu_ns > worst.late_ns / 2 {
        Lateness::Gpu
    } else if worst.enqueue_ns > worst.late_ns / 2 {
        Lateness::Enqueue
    } else {
        Lateness::Unknown
    };
    is_named.then_some(Late {
        hash,
        rank: *rank,
        collectives: worst.collectives,
        judged,
        late_ns: worst.late_ns,
        why,
    })
}

/// The lower median of all other ranks.
fn median_without(row: &Row, rank: u32, value: fn(&CollectiveWaits) -> u64) -> u64 {
    let others = row.iter().filter(|(other, _)| **other != rank);
    let mut values: Vec<u64> = others.map(|(_, waits)| value(waits)).collect();
    values.sort_unstable();
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(received_ms: u64, first_gpu_ms: u64, lasted_ms: u64) -> CollectiveWaits {
        CollectiveWaits {
            received_ns: received_ms * 1_000_000,
            first_gpu_ns: first_gpu_ms * 1_000_000,
            lasted_ns: lasted_ms * 1_000_000,
            ..CollectiveWaits::default()
        }
    }

    fn rows(row: [CollectiveWaits; 4]) -> BTreeMap<CollectiveKey, Row> {
        (0..5).map(|sequence| ((Function(5), sequence), (0..).zip(row).collect())).collect()
    }

    #[test]
    fn a_late_gpu_waits_for_itself() {
        let row = [waits(50, 1, 60), waits(51, 1, 60), waits(2, 50, 60), waits(49, 1, 60)];
        let late = judge(7, 4, &rows(row)).unwrap();
        assert_eq!((late.rank, late.why, late.collectives), (2, Lateness::Gpu, 5));
        assert_eq!(late.late_ns, 5 * 48_000_000);
    }

    #[test]
    fn a_late_call_makes_short_operations() {
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(49, 1, 60)];
        let late = judge(7, 4, &rows(row)).unwrap();
        assert_eq!((late.rank, late.why), (1, Lateness::Enqueue));
    }

    #[test]
    fn slow_networks_and_missing_ranks_name_nobody() {
        let row = [waits(50, 1, 60), waits(48, 1, 60), waits(52, 1, 60), waits(49, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)), None);
        // Little of the time.
        let row = [waits(50, 1, 60), waits(47, 1, 60), waits(52, 1, 60), waits(51, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)), None);
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(49, 1, 60)];
        assert_eq!(judge(7, 8, &rows(row)), None);
        // Two ranks wait less than the others: which of them is late is not certain.
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(3, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)), None);
    }
}
