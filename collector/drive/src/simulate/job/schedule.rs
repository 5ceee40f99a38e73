//! The work of every rank of a job, round by round: the same rounds for all, as messages for each.

use std::ops::Range;

use crate::collective::channel_split::split;
use crate::collective::ring::{Chunk, Ring, chunks};
use crate::collective::slicing::Slicing;
use crate::collective::{DataType, Kind, Operation, Operator};
use crate::release::Release;
use crate::simulate::scenario::job::{Job, PausePurpose};
use crate::truth::Part;

/// Bytes reduced after an evaluation: loss and accuracy.
const EVALUATION_BYTES: u64 = 16;

/// Work of the GPU, then collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// Training step, from 0; `None` during warm-up and in a pause.
    pub iteration: Option<u32>,
    /// Whether it is warm-up.
    pub is_warmup: bool,
    /// Whether it is a pause rather than a training step: the CPU waits for its end.
    pub is_pause: bool,
    /// GPU time before the last collective can start, ns.
    pub compute_ns: u64,
    /// Range of its collectives among those of the job.
    pub collectives: Range<usize>,
}

/// All rounds of a job, and their collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub rounds: Vec<Round>,
    pub collectives: Vec<Operation>,
}

/// One message at a rank, on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// May be 0.
    pub bytes: u32,
    /// Part of the collective when received; `None`: it is not received from the previous rank.
    pub receives: Option<Part>,
    /// Part of the collective when sent; `None`: it is not sent to the next rank.
    pub sends: Option<Part>,
    /// Whether it ends its chunk.
    pub ends_chunk: bool,
}

impl Schedule {
    pub(super) fn new(job: &Job) -> Self {
        let mut schedule = Self { rounds: Vec::new(), collectives: Vec::new() };
        let buckets: Vec<u64> = job.buckets.iter().map(|bucket| bucket.0).collect();
        for number in 0..job.warmup + job.iterations {
            let iteration = number.checked_sub(job.warmup);
            schedule.push(iteration, iteration.is_none(), false, job.compute.0, &buckets);
            let pauses = job.pause.iter().filter(|pause| Some(pause.after) == iteration);
            for pause in pauses {
                let sums: &[u64] = match pause.purpose {
                    PausePurpose::Evaluation => &[EVALUATION_BYTES],
                    PausePurpose::Checkpoint => &[],
                };
                schedule.push(None, false, true, pause.time.0, sums);
            }
        }
        schedule
    }

    /// The round that a collective belongs to.
    pub(super) fn round_of(&self, collective: usize) -> Option<&Round> {
        let before = self.rounds.partition_point(|round| round.collectives.end <= collective);
        self.rounds.get(before)
    }

    fn push(
        &mut self,
        iteration: Option<u32>,
        is_warmup: bool,
        is_pause: bool,
        compute_ns: u64,
        buckets: &[u64],
    ) {
        let first = self.collectives.len();
        self.collectives.extend(buckets.iter().map(|bytes| all_reduce(*bytes)));
        let collectives = first..self.collectives.len();
        self.rounds.push(Round { iteration, is_warmup, is_pause, compute_ns, collectives });
    }
}

fn all_reduce(bytes: u64) -> Operation {
    let data_type = DataType::Float32;
    let count = usize::try_from(bytes).unwrap_or(usize::MAX) / data_type.bytes();
    Operation { kind: Kind::AllReduce, data_type, operator: Operator::Sum, root: 0, count }
}

/// What `rank` does with each message of a collective, per channel, in order.
pub(super) fn lanes(
    release: Release,
    operation: &Operation,
    rings: &[Ring],
    rank: u32,
) -> Vec<Vec<Turn>> {
    let slicing = Slicing::for_kind(operation.kind);
    let turns = |chunk: Chunk| {
        let action = chunk.action;
        (0..slicing.slices).map(move |slice| Turn {
            bytes: slicing.message(chunk.bytes, operation.unit_bytes(), slice).len() as u32,
            receives: action.receives().then(|| action.part_received(operation.kind)),
            sends: action.sends().then(|| action.part_sent(operation.kind)),
            ends_chunk: slice + 1 == slicing.slices,
        })
    };
    let lanes = chunks_of(release, operation, rings, rank).into_iter();
    lanes.map(|chunks| chunks.into_iter().flat_map(turns).collect()).collect()
}

/// Number of messages of a collective that `rank` receives, per channel.
pub(super) fn received(
    release: Release,
    operation: &Operation,
    rings: &[Ring],
    rank: u32,
) -> Vec<u32> {
    let received = |chunks: Vec<Chunk>| {
        let received = chunks.iter().filter(|chunk| chunk.action.receives()).count();
        received as u32 * Slicing::for_kind(operation.kind).slices
    };
    chunks_of(release, operation, rings, rank).into_iter().map(received).collect()
}

/// The chunks of a collective at `rank`, per channel.
fn chunks_of(
    release: Release,
    operation: &Operation,
    rings: &[Ring],
    rank: u32,
) -> Vec<Vec<Chunk>> {
    let ranks = rings.first().map_or(1, Ring::ranks);
    let [ranks, channels] = [ranks, rings.len()].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let shares = split(release, operation, ranks, channels);
    let of_channel = |(channel, ring): (u32, &Ring)| {
        let share = shares.iter().find(|share| share.channel == channel);
        share.map_or_else(Vec::new, |share| chunks(release, operation, ring, rank, share))
    };
    (0..).zip(rings).map(of_channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::scenario::job::Pause;
    use crate::simulate::scenario::quantity::Time;

    #[test]
    fn pauses_follow_their_training_step() {
        let pause = Pause { after: 1, time: Time(9), purpose: PausePurpose::Evaluation };
        let job = Job { iterations: 3, warmup: 1, pause: vec![pause], ..Job::default() };
        let schedule = Schedule::new(&job);
        let seen: Vec<_> = schedule
            .rounds
            .iter()
            .map(|round| (round.iteration, round.is_pause, round.collectives.len()))
            .collect();
        let expected = [(None, false, 2), (Some(0), false, 2), (Some(1), false, 2)];
        assert_eq!(seen[..3], expected);
        assert_eq!(seen[3..], [(None, true, 1), (Some(2), false, 2)]);
        assert_eq!(schedule.collectives.len(), 9);
        assert_eq!(schedule.round_of(6), Some(&schedule.rounds[3]));
        assert_eq!(schedule.round_of(7), Some(&schedule.rounds[4]));
    }

    #[test]
    fn what_a_rank_sends_the_next_receives() {
        let rings = [Ring::ascending(3), Ring::from_order(vec![0, 2, 1]).unwrap()];
        for bytes in [4, 40_000, 3 << 20] {
            let lanes: Vec<_> = (0..3)
                .map(|rank| lanes(Release::V2_27_7, &all_reduce(bytes), &rings, rank))
                .collect();
            for rank in 0..3 {
                let lanes = lanes[rank as usize].iter();
                let received = lanes
                    .map(|lane| lane.iter().filter(|turn| turn.receives.is_some()).count() as u32);
                let received: Vec<_> = received.collect();
                assert_eq!(
                    received,
                    super::received(Release::V2_27_7, &all_reduce(bytes), &rings, rank)
                );
            }
            for (channel, ring) in rings.iter().enumerate() {
                for rank in 0..3 {
                    let next = ring.next(rank) as usize;
                    let sent: Vec<_> = lanes[rank as usize][channel]
                        .iter()
                        .filter_map(|turn| Some((turn.bytes, turn.sends?)))
                        .collect();
                    let received: Vec<_> = lanes[next][channel]
                        .iter()
                        .filter_map(|turn| Some((turn.bytes, turn.receives?)))
                        .collect();
                    assert_eq!(sent, received, "{bytes} bytes, channel {channel}, rank {rank}");
                }
            }
        }
    }
}
