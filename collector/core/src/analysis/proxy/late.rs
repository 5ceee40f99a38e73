//! Which rank the others waited for, from the waits of all ranks of a communicator.
//!
//! In a collective everybody waits for the late rank, and it for nobody: its receives find their data
//! there, and its sends find room. So a rank's lateness is what it waited less than the others: their
//! lower median, less its own. The rank before it on the ring has its data, too, and waits for room.
//! A rank waits from when its own first data was there: who calls ahead of its GPU does not wait before, and
//! who does so less than others keeps nobody waiting. All end about together, so the data of the late one
//! was there for less time than that of the others. If it had called long before that, its GPU is late;
//! else it called late. Loss and congestion hold up everybody, also the rank behind: no rank waits much
//! less, and none is named.

use std::collections::{BTreeMap, BTreeSet};

use super::elsewhere::Elsewhere;
use super::kernel;
use super::node::{self, Call, Calls, Processes};
use super::own::Moments;
use super::slow::{self, SlowEdge};
use super::tally::Tallies;
use super::{CollectiveKey, CollectiveWaits, ProcessRecords, RING, recorded};
use crate::analysis::straggler::Cause;
use crate::decode::profiler::{Collective, Function};

/// Collectives in which all ranks of a ring do the same: AllGather, ReduceScatter, AllReduce. A root
/// waits for nobody, nor do the leaves of a tree for the same as others.
pub(super) const IS_EQUAL: [Function; 3] = [Function(3), Function(4), Function(5)];
/// Least part of the collectives' time that the others waited: one in so many.
pub(super) const PART: u64 = 10;
/// Least lateness in a collective, in nanoseconds: less is the proxies' own polling.
pub(super) const LEAST_NS: u64 = 1_000_000;
/// Collectives in which a rank must be late.
pub(super) const LEAST_COLLECTIVES: u64 = 3;

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
    /// What it is known by.
    pub shown_by: ShownBy,
}

/// What shows that a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownBy {
    /// The others waited for data and for room, and it did not.
    Waits,
    /// The clock of its node: it called when the other ranks of the node were there.
    Clock,
    /// Its kernels ran for less time than those of the others.
    Kernels,
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
    /// Collectives of which the kernels of all ranks were timed.
    pub judged_by_kernels: u64,
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
    /// Nodes; `None` if no process said.
    nodes: Option<u32>,
    rows: BTreeMap<CollectiveKey, Row>,
    calls: Calls,
    kernels: kernel::Rows,
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
    let clocks = node::clocks(processes);
    let elsewhere: Vec<Elsewhere> = processes.iter().map(Elsewhere::of_process).collect();
    for (place, (process, elsewhere)) in processes.iter().zip(&elsewhere).enumerate() {
        let known = |comm: u32| {
            let of = process.communicators.get(&comm)?.of.as_ref()?;
            let known = (of.hash?, of.rank?, of.ranks?);
            Some(known).filter(|(_, rank, ranks)| rank < ranks)
        };
        let equal = process.collectives.iter().filter(|(_, one)| IS_EQUAL.contains(&one.key.0));
        let mut before: BTreeMap<u32, u64> = BTreeMap::new();
        for (number, waits) in equal.filter(|(_, one)| one.is_ring) {
            let Some((hash, rank, ranks)) = known(waits.comm) else { continue };
            let of = all.entry(hash).or_default();
            of.ranks = ranks;
            let called_ns = waits.called.map_or(0, |called| called.time_ns);
            let before_ns = before.insert(waits.comm, called_ns).unwrap_or(0);
            let has_edges = process.edges_of(waits.comm).next().is_some();
            if let Some(call) = Call::new((place, before_ns), waits, has_edges) {
                of.calls.entry(waits.key).or_default().insert(rank, call);
            }
            // One that goes on has waited for less than it will have.
            if waits.moments.is_over() {
                let elsewhere_ns = elsewhere.of_collective(*number);
                let waits = CollectiveWaits { elsewhere_ns, ..*waits };
                of.rows.entry(waits.key).or_default().insert(rank, waits);
            }
        }
        for (comm, key, ran) in process.ran() {
            let Some((hash, rank, ranks)) = known(comm) else { continue };
            let of = all.entry(hash).or_default();
            of.ranks = ranks;
            of.kernels.entry(key).or_default().insert(rank, ran);
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
            let said = process.communicators.get(comm).and_then(|waits| waits.of.as_ref()?.nodes);
            of.nodes = of.nodes.or(said);
            if process.has_gaps() {
                of.with_gaps.insert(rank);
            }
        }
    }
    let judgement = |(hash, (ranks, recorded)): (u64, (Option<u32>, BTreeSet<u32>))| {
        let of = all.remove(&hash).unwrap_or_default();
        let (late, judged, lasted_ns) = judge(hash, of.ranks, &of.rows);
        let places = Processes { clocks: &clocks, elsewhere: &elsewhere };
        let by_clock = of
            .nodes
            .filter(|_| of.shares_nodes && of.with_gaps.is_empty())
            .map(|nodes| node::judge(hash, (of.ranks, nodes), &of.calls, &places));
        let (by_clock, by_calls) = by_clock.unwrap_or_default();
        // The network may be what is late at a rank whose data takes longest to be acknowledged.
        let late = late.filter(|late| {
            let may_be_network =
                late.why == Lateness::Unknown && slow::longest(&of.edges) == Some(late.rank);
            // A rank of which receives are missing seems to wait less than it did.
            !may_be_network && !of.with_gaps.contains(&late.rank)
        });
        // A channel whose record is lost makes a kernel look short.
        let by_kernels = of.with_gaps.is_empty();
        let by_kernels = by_kernels.then(|| kernel::judge(hash, of.ranks, &of.kernels));
        let (by_kernels, judged_by_kernels) = by_kernels.unwrap_or_default();
        let late = agreed([by_clock, late, by_kernels]);
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
        let (judged, shares_nodes) = (judged.max(by_calls), of.shares_nodes);
        Judgement {
            hash,
            ranks,
            recorded,
            judged,
            judged_by_kernels,
            shares_nodes,
            late,
            slow_receiver,
            slow_path,
        }
    };
    recorded(processes).into_iter().map(judgement).collect()
}

/// What several witnesses say, the best one first: of two ranks, neither is certain.
fn agreed(witnesses: [Option<Late>; 3]) -> Option<Late> {
    let said = || witnesses.into_iter().flatten();
    let first = said().next()?;
    let why = said().map(|late| late.why).find(|why| *why != Lateness::Unknown);
    let why = why.unwrap_or(Lateness::Unknown);
    said().all(|other| other.rank == first.rank).then_some(Late { why, ..first })
}

/// Whether each rank of a communicator has a node of its own.
fn is_alone(process: &ProcessRecords, comm: u32) -> bool {
    let of = process.communicators.get(&comm).and_then(|waits| waits.of.as_ref());
    of.is_some_and(|of| of.nodes.is_some() && of.nodes == of.ranks)
}

/// The late rank, the collectives that were judged, and how long they lasted together.
fn judge(hash: u64, ranks: u32, rows: &BTreeMap<CollectiveKey, Row>) -> (Option<Late>, u64, u64) {
    let mut tallies = Tallies::default();
    for row in rows.values() {
        // Of two ranks, each waits for the other in turn. Who only sends to its node, or only receives from
        // it, waits for less by itself.
        let is_whole = |one: &CollectiveWaits| one.receives && one.moments.first_data_ns > 0;
        if row.len() < 3 || u32::try_from(row.len()).ok() != Some(ranks) {
            continue;
        }
        tallies.judged(row.values().map(|one| one.lasted_ns).max().unwrap_or(0));
        if !row.values().all(is_whole) {
            continue;
        }
        for (rank, waits) in row {
            let others = |value: fn(&CollectiveWaits) -> u64| median_without(row, *rank, value);
            let less = others(waited_ns).saturating_sub(waited_ns(waits));
            // The others may have waited elsewhere, too, and all of them the same.
            let held_up = waits.elsewhere_ns.saturating_sub(others(|one| one.elsewhere_ns));
            let late = less.saturating_sub(held_up);
            if late < LEAST_NS {
                continue;
            }
            let began_later = others(there_ns).saturating_sub(there_ns(waits));
            let Moments { began_ns, first_data_ns, .. } = waits.moments;
            let why = if began_later < late / 2 {
                Lateness::Unknown
            } else if first_data_ns.saturating_sub(began_ns) >= late / 2 {
                Lateness::Gpu
            } else {
                Lateness::Enqueue
            };
            tallies.late(*rank, late, why);
        }
    }
    (tallies.named(hash), tallies.judged, tallies.lasted_ns)
}

/// How long before the end its own first data was there.
const fn there_ns(waits: &CollectiveWaits) -> u64 {
    waits.moments.ended_ns.saturating_sub(waits.moments.first_data_ns)
}

/// How long a rank waited for others: for their data, and for room.
const fn waited_ns(waits: &CollectiveWaits) -> u64 {
    waits.received_ns.saturating_add(waits.room_ns)
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
    use crate::analysis::proxy::own::First;

    const MS: u64 = 1_000_000;

    /// What a rank waited for, from when its data was there `data_ms` after the begin; the collective ended
    /// at 100. It called `called_ms` after the begin.
    fn waits(received_ms: u64, called_ms: u64, data_ms: u64) -> CollectiveWaits {
        let mut one = CollectiveWaits {
            received_ns: received_ms * MS,
            receives: true,
            lasted_ns: (100 - called_ms) * MS,
            ..CollectiveWaits::default()
        };
        let at = |ms: u64| (1000 + ms) * MS;
        one.moments.begin(at(called_ms));
        one.moments.first(First::Data(at(data_ms)));
        one.moments.end(&Default::default(), at(called_ms), one.lasted_ns);
        one
    }

    fn rows(row: [CollectiveWaits; 4]) -> BTreeMap<CollectiveKey, Row> {
        (0..5).map(|sequence| ((Function(5), sequence), (0..).zip(row).collect())).collect()
    }

    #[test]
    fn a_late_gpu_called_long_before_its_data_was_there() {
        let row = [waits(50, 0, 1), waits(51, 0, 1), waits(2, 0, 50), waits(49, 0, 1)];
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why, late.collectives), (2, Lateness::Gpu, 5));
        assert_eq!(late.late_ns, 5 * 48 * MS);
        // Also where it is called ahead of all GPUs, and its own call was the last.
        let row = [waits(50, 0, 30), waits(51, 0, 30), waits(2, 25, 80), waits(49, 0, 30)];
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why), (2, Lateness::Gpu));
    }

    #[test]
    fn who_waits_for_room_is_not_late() {
        let row = [waits(50, 0, 1), waits(2, 0, 1), waits(3, 50, 51), waits(49, 0, 1)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        let [first, second, third, last] = row;
        let held_up = CollectiveWaits { room_ns: 45 * MS, ..second };
        let late = judge(7, 4, &rows([first, held_up, third, last])).0.unwrap();
        assert_eq!((late.rank, late.why), (2, Lateness::Enqueue));
    }

    #[test]
    fn who_waited_in_another_communicator_is_not_late() {
        let late = waits(2, 50, 51);
        let row = [waits(50, 0, 1), late, waits(52, 0, 1), waits(49, 0, 1)];
        let late_rank = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late_rank.rank, late_rank.why), (1, Lateness::Enqueue));
        let [first, _, third, last] = row;
        let held_up = CollectiveWaits { elsewhere_ns: 48 * MS, ..late };
        assert_eq!(judge(7, 4, &rows([first, held_up, third, last])).0, None);
        // All waited there as long, and it came later by itself.
        let elsewhere = |one: CollectiveWaits| CollectiveWaits { elsewhere_ns: 48 * MS, ..one };
        let late_rank = judge(7, 4, &rows(row.map(elsewhere))).0.unwrap();
        assert_eq!((late_rank.rank, late_rank.late_ns), (1, 5 * 48 * MS));
    }

    #[test]
    fn who_kept_others_waiting_in_another_communicator_is_not_late_in_this_one_too() {
        let row = [48, 0, 47, 48].map(|elsewhere_ms| CollectiveWaits {
            elsewhere_ns: elsewhere_ms * MS,
            ..waits(5, 0, 1)
        });
        assert_eq!(judge(7, 4, &rows(row)).0, None);
    }

    #[test]
    fn a_late_call_has_its_data_at_once() {
        let row = [waits(50, 0, 1), waits(2, 50, 51), waits(52, 0, 1), waits(49, 0, 1)];
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why), (1, Lateness::Enqueue));
    }

    #[test]
    fn who_waits_less_and_began_as_early_is_late_for_an_unknown_reason() {
        let row = [waits(50, 0, 1), waits(2, 0, 1), waits(52, 0, 1), waits(49, 0, 1)];
        let late = judge(7, 4, &rows(row)).0.unwrap();
        assert_eq!((late.rank, late.why), (1, Lateness::Unknown));
    }

    #[test]
    fn ranks_that_only_send_to_other_nodes_are_not_judged_by_what_they_wait() {
        let sends = CollectiveWaits { receives: false, ..waits(0, 0, 1) };
        let row = [waits(50, 0, 1), sends, waits(52, 0, 1), waits(49, 0, 1)];
        assert_eq!(judge(7, 4, &rows(row)), (None, 5, 5 * 100 * MS));
    }

    #[test]
    fn slow_networks_and_missing_ranks_name_nobody() {
        let row = [waits(50, 0, 1), waits(48, 0, 1), waits(52, 0, 1), waits(49, 0, 1)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        // Little of the time.
        let row = [waits(50, 0, 1), waits(47, 0, 1), waits(52, 0, 1), waits(51, 0, 1)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
        let row = [waits(50, 0, 1), waits(2, 50, 51), waits(52, 0, 1), waits(49, 0, 1)];
        assert_eq!(judge(7, 8, &rows(row)).0, None);
        // Two ranks wait less than the others: which of them is late is not certain.
        let row = [waits(50, 0, 1), waits(2, 50, 51), waits(52, 0, 1), waits(3, 50, 51)];
        assert_eq!(judge(7, 4, &rows(row)).0, None);
    }
}
