//! Which rank the others waited for, from the waits of all ranks of a communicator.
//!
//! In a collective everybody waits for the late rank, and it for nobody: its receives find their data
//! there, and its sends find room. So a rank's lateness is what it waited less than the others: their
//! lower median, less its own. The rank before it on the ring has its data, too, and waits for room.
//! A rank whose GPU is late has its first send enqueued in time and waits for the GPU; one that enqueues
//! late has operations that are shorter than those of the others. Loss and congestion hold up everybody,
//! also the rank behind: no rank waits much less, and none is named.

use std::collections::{BTreeMap, BTreeSet};

use super::slow::{self, SlowEdge};
use super::{CollectiveKey, CollectiveWaits, ProcessRecords, RING, elsewhere, recorded};
use crate::analysis::straggler::Cause;
use crate::decode::profiler::{Collective, Function};

/// Collectives in which all ranks of a ring do the same: AllGather, ReduceScatter, AllReduce. A root
/// waits for nobody, nor do the leaves of a tree for the same as others.
pub(super) const IS_EQUAL: [Function; 3] = [Function(3), Function(4), Function(5)];
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

impl Lateness {
    /// The cause of a straggler that it is.
    #[must_use]
    pub const fn cause(self) -> Cause {
        match self {
            Self::Gpu => Cause::Compute,
            Self::Enqueue => Cause::Enqueue,
            Self::Unknown => Cause::Sender,
        }
    }
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

/// What the records of a communicator's ranks show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Hash of the communicator.
    pub hash: u64,
    /// Its ranks; `None` if no process said.
    pub ranks: Option<u32>,
    /// Ranks of which there are records.
    pub recorded: BTreeSet<u32>,
    /// Collectives over rings that were recorded by all ranks.
    pub judged: u64,
    /// Ranks share nodes, or it is not known: those of one node wait alike.
    pub shares_nodes: bool,
    /// The rank that the others waited for.
    pub late: Option<Late>,
    /// The edge to a rank that grants room late.
    pub slow_receiver: Option<SlowEdge>,
    /// The edge on which data takes long.
    pub slow_path: Option<SlowEdge>,
}

impl Judgement {
    /// How many ranks are without records; `None` if it is not known how many there are.
    #[must_use]
    pub fn missing_count(&self) -> Option<u32> {
        let recorded = u32::try_from(self.recorded.len()).unwrap_or(u32::MAX);
        Some(self.ranks?.saturating_sub(recorded))
    }

    /// Ranks without records; none if it is not known how many there are.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        (0..self.ranks.unwrap_or(0)).filter(|rank| !self.recorded.contains(rank))
    }
}

/// What each rank waited for in a collective.
type Row = BTreeMap<u32, CollectiveWaits>;

/// The collectives of a communicator, and the edges of its ranks.
#[derive(Default)]
struct Recorded {
    ranks: u32,
    rows: BTreeMap<CollectiveKey, Row>,
    edges: slow::Edges,
    /// Ranks whose records have gaps: what they waited for is not all there.
    with_gaps: BTreeSet<u32>,
    /// Edges carry more than collectives over rings: a tree or a send makes others wait for room by itself.
    is_mixed: bool,
    /// Ranks share nodes, or it is not known. What one takes slowly may be due to another one of its node.
    shares_nodes: bool,
}

/// What the records show, by communicator. One rank is late at most; every rank must have recorded.
#[must_use]
pub fn judgements(processes: &[ProcessRecords]) -> Vec<Judgement> {
    let mut all: BTreeMap<u64, Recorded> = BTreeMap::new();
    for process in processes {
        let known = |comm: u32| {
            let of = process.communicators.get(&comm)?.of.as_ref()?;
            let known = (of.hash?, of.rank?, of.ranks?);
            Some(known).filter(|(_, rank, ranks)| rank < ranks)
        };
        let elsewhere = elsewhere::of_process(process);
        let equal = process.collectives.iter().filter(|(_, one)| IS_EQUAL.contains(&one.key.0));
        // One that goes on has waited for less than it will have.
        for (number, waits) in equal.filter(|(_, one)| one.is_ring && one.moments.is_over()) {
            let Some((hash, rank, ranks)) = known(waits.comm) else { continue };
            let of = all.entry(hash).or_default();
            of.ranks = ranks;
            let elsewhere_ns = elsewhere.get(number).copied().unwrap_or(0);
            let waits = CollectiveWaits { elsewhere_ns, ..*waits };
            of.rows.entry(waits.key).or_default().insert(rank, waits);
        }
        let called = process.collectives.values().filter_map(|one| one.called);
        let is_other = |one: &Collective| {
            one.is_p2p || one.algorithm != RING || !IS_EQUAL.contains(&one.function)
        };
        let mixed: BTreeSet<u32> = called.filter(is_other).map(|one| one.comm).collect();
        for comm in process.communicators.keys() {
            let Some((hash, rank, _)) = known(*comm) else { continue };
            let of = all.entry(hash).or_default();
            slow::add(&mut of.edges, process, *comm, rank);
            of.is_mixed |= mixed.contains(comm);
            of.shares_nodes |= !is_alone(process, *comm);
            if process.has_gaps() {
                of.with_gaps.insert(rank);
            }
        }
    }
    let judgement = |(hash, (ranks, recorded)): (u64, (Option<u32>, BTreeSet<u32>))| {
        let of = all.remove(&hash).unwrap_or_default();
        let (late, judged, lasted_ns) = judge(hash, of.ranks, &of.rows);
        // The network may be what is late at a rank whose data takes longest to be acknowledged.
        let late = late.filter(|late| {
            let may_be_network =
                late.why == Lateness::Unknown && slow::longest(&of.edges) == Some(late.rank);
            // A rank of which receives are missing seems to wait less than it did.
            !may_be_network && !of.with_gaps.contains(&late.rank)
        });
        let is_judged = judged > 0 && !of.is_mixed && of.with_gaps.is_empty();
        // A rank whose GPU is late stops to take data, too: that is its cause.
        let is_explained = |edge: &SlowEdge| {
            late.is_some_and(|late| late.rank == edge.to && late.why != Lateness::Unknown)
        };
        let slow_path = slow::path(&of.edges, lasted_ns).filter(|_| is_judged);
        // Where the network is slow, what comes late holds up room, too.
        let slow_receiver = slow::receiver(&of.edges, lasted_ns)
            .filter(|edge| is_judged && !is_explained(edge) && slow_path.is_none())
            .filter(|_| !of.shares_nodes);
        // One that takes data slowly is waited for, and that is why.
        let late = late.filter(|late| slow_receiver.is_none_or(|edge| edge.to != late.rank));
        let shares_nodes = of.shares_nodes;
        Judgement { hash, ranks, recorded, judged, shares_nodes, late, slow_receiver, slow_path }
    };
    recorded(processes).into_iter().map(judgement).collect()
}

/// Whether each rank of a communicator has a node of its own.
fn is_alone(process: &ProcessRecords, comm: u32) -> bool {
    let of = process.communicators.get(&comm).and_then(|waits| waits.of.as_ref());
    of.is_some_and(|of| of.nodes.is_some() && of.nodes == of.ranks)
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    collectives: u64,
    late_ns: u64,
    gpu_ns: u64,
    enqueue_ns: u64,
}

/// The late rank, the collectives that were judged, and how long they lasted together.
fn judge(hash: u64, ranks: u32, rows: &BTreeMap<CollectiveKey, Row>) -> (Option<Late>, u64, u64) {
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
            let late = others(waited_ns).saturating_sub(waited_ns(waits));
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
    (named(hash, judged, lasted, &tallies), judged, lasted)
}

fn named(hash: u64, judged: u64, lasted: u64, tallies: &BTreeMap<u32, Tally>) -> Option<Late> {
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

/// How long a rank waited for others: for their data, for room, and before in other communicators.
const fn waited_ns(waits: &CollectiveWaits) -> u64 {
    waits.received_ns.saturating_add(waits.room_ns).saturating_add(waits.elsewhere_ns)
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
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why, late.collectives), (2, Lateness::Gpu, 5));
        assert_eq!(late.late_ns, 5 * 48_000_000);
    }

    #[test]
    fn who_waits_for_room_is_not_late() {
        let row = [waits(50, 1, 60), waits(2, 1, 60), waits(3, 1, 9), waits(49, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        let [first, second, third, last] = row;
        let held_up = CollectiveWaits { room_ns: 45_000_000, ..second };
        let late = judge(7, 4, &rows([first, held_up, third, last])).0.unwrap();
        assert_eq!((late.rank, late.why), (2, Lateness::Enqueue));
    }

    #[test]
    fn who_waited_in_another_communicator_is_not_late() {
        let late = waits(2, 1, 9);
        let row = [waits(50, 1, 60), late, waits(52, 1, 60), waits(49, 1, 60)];
        let late_rank = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late_rank.rank, late_rank.why), (1, Lateness::Enqueue));
        let [first, _, third, last] = row;
        let held_up = CollectiveWaits { elsewhere_ns: 48_000_000, ..late };
        assert_eq!(judge(7, 4, &rows([first, held_up, third, last])).0, None);
    }

    #[test]
    fn a_late_call_makes_short_operations() {
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(49, 1, 60)];
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why), (1, Lateness::Enqueue));
    }

    #[test]
    fn slow_networks_and_missing_ranks_name_nobody() {
        let row = [waits(50, 1, 60), waits(48, 1, 60), waits(52, 1, 60), waits(49, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        // Little of the time.
        let row = [waits(50, 1, 60), waits(47, 1, 60), waits(52, 1, 60), waits(51, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(49, 1, 60)];
        assert_eq!(judge(7, 8, &rows(row)).0, None);
        // Two ranks wait less than the others: which of them is late is not certain.
        let row = [waits(50, 1, 60), waits(2, 1, 9), waits(52, 1, 60), waits(3, 1, 60)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
    }
}
