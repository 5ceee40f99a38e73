//! What a rank does with the chunks that go around a ring.
//!
//! Sources: NCCL `src/device/{all_reduce,all_gather,reduce_scatter,broadcast}.h` (`runRing`); for
//! the size of the last chunks, 2.21.5 `src/enqueue.cc` (`computeCollLastChunkInfo`), 2.27.7
//! `src/device/all_reduce.h`.

use super::channel_split::{SHARE_GRAIN, Share};
use super::slicing::Slicing;
use super::{Kind, Operation};
use crate::release::Release;
use crate::truth::Part;

/// The order of ranks on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Each rank once; data goes from each to the next, and from the last to the first.
    order: Vec<u32>,
    /// Each rank's position in the order.
    places: Vec<usize>,
}

/// What a rank does with one chunk, named after NCCL's primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The input is sent.
    Send,
    /// The input becomes output and is sent.
    CopySend,
    /// The received chunk is reduced with the input and sent.
    RecvReduceSend,
    /// The received chunk is reduced with the input; the result becomes output and is sent.
    RecvReduceCopySend,
    /// The received chunk is reduced with the input; the result becomes output.
    RecvReduceCopy,
    /// The received chunk becomes output and is sent.
    RecvCopySend,
    /// The received chunk becomes output.
    Recv,
}

/// One chunk at one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What the rank does with the chunk: receive, reduce, copy, send.
    pub action: Action,
    /// Offset in the input in bytes, if the input is used.
    pub input: usize,
    /// Offset in the output in bytes, if the chunk becomes output.
    pub output: usize,
    /// Size in bytes; may be 0.
    pub bytes: usize,
}

/// The chunks of a channel's share of a collective at `rank`, in processing order; none for a rank
/// without peers.
#[must_use]
pub fn chunks(
    release: Release,
    operation: &Operation,
    ring: &Ring,
    rank: u32,
    share: &Share,
) -> Vec<Chunk> {
    if ring.ranks() == 1 {
        return Vec::new();
    }
    match operation.kind {
        Kind::AllReduce => all_reduce(release, operation, ring, rank, share),
        Kind::AllGather => loops(operation, share)
            .flat_map(|(at, bytes)| all_gather(operation, ring, rank, at, bytes))
            .collect(),
        Kind::ReduceScatter => loops(operation, share)
            .flat_map(|(at, bytes)| reduce_scatter(operation, ring, rank, at, bytes))
            .collect(),
        Kind::Broadcast => {
            let action = if rank == operation.root {
                Action::CopySend
            } else if ring.after(rank, 1) == operation.root {
                Action::Recv
            } else {
                Action::RecvCopySend
            };
            loops(operation, share)
                .map(|(at, bytes)| Chunk { action, input: at, output: at, bytes })
                .collect()
        }
    }
}

/// Offsets and sizes of a share's chunks.
fn loops(operation: &Operation, share: &Share) -> impl Iterator<Item = (usize, usize)> + use<> {
    let chunk = Slicing::for_kind(operation.kind).chunk_bytes();
    let Share { offset, bytes, .. } = *share;
    (0..bytes).step_by(chunk).map(move |done| (offset + done, chunk.min(bytes - done)))
}

fn all_reduce(
    release: Release,
    operation: &Operation,
    ring: &Ring,
    rank: u32,
    share: &Share,
) -> Vec<Chunk> {
    let ranks = ring.ranks();
    let position = ring.distance_from_zero(rank);
    let full = Slicing::for_kind(Kind::AllReduce).chunk_bytes();
    let mut chunks = Vec::new();
    for done in (0..share.bytes).step_by(ranks * full) {
        let rest = share.bytes - done;
        let size = if rest < ranks * full {
            last_chunk_bytes(release, rest, operation.unit_bytes(), ranks)
        } else {
            full
        };
        // The chunk that rank `position - back` of the ring starts with.
        let mut push = |action, back: usize| {
            let within = ((position + ranks - back) % ranks * size).min(rest);
            let at = share.offset + done + within;
            chunks.push(Chunk { action, input: at, output: at, bytes: size.min(rest - within) });
        };
        push(Action::Send, 1);
        (2..ranks).for_each(|back| push(Action::RecvReduceSend, back));
        push(Action::RecvReduceCopySend, 0);
        (1..ranks - 1).for_each(|back| push(Action::RecvCopySend, back));
        push(Action::Recv, ranks - 1);
    }
    chunks
}

fn last_chunk_bytes(release: Release, rest: usize, unit_bytes: usize, ranks: usize) -> usize {
    let grain = match release {
        Release::V2_21_5 => SHARE_GRAIN,
        Release::V2_27_7 => 16,
    };
    ((rest / unit_bytes).div_ceil(ranks) * unit_bytes).next_multiple_of(grain)
}

fn all_gather(
    operation: &Operation,
    ring: &Ring,
    rank: u32,
    at: usize,
    bytes: usize,
) -> impl Iterator<Item = Chunk> {
    let last = ring.ranks() - 1;
    (0..=last).map(move |back| {
        let action = match back {
            0 => Action::CopySend,
            back if back == last => Action::Recv,
            _ => Action::RecvCopySend,
        };
        let output = ring.before(rank, back) as usize * operation.part_bytes() + at;
        Chunk { action, input: at, output, bytes }
    })
}

fn reduce_scatter(
    operation: &Operation,
    ring: &Ring,
    rank: u32,
    at: usize,
    bytes: usize,
) -> impl Iterator<Item = Chunk> {
    let last = ring.ranks();
    (1..=last).map(move |back| {
        let action = match back {
            1 => Action::Send,
            back if back == last => Action::RecvReduceCopy,
            _ => Action::RecvReduceSend,
        };
        let input = ring.before(rank, back) as usize * operation.part_bytes() + at;
        Chunk { action, input, output: at, bytes }
    })
}

impl Ring {
    /// The ring of ranks in ascending order.
    #[must_use]
    pub fn ascending(ranks: u32) -> Self {
        Self { order: (0..ranks.max(1)).collect(), places: (0..ranks.max(1) as usize).collect() }
    }

    /// The ring that visits ranks in this order; `None` unless each rank from 0 occurs once.
    #[must_use]
    pub fn from_order(order: Vec<u32>) -> Option<Self> {
        let mut places = vec![None; order.len()];
        for (place, &rank) in order.iter().enumerate() {
            *places.get_mut(rank as usize)? = Some(place);
        }
        // There are as many positions as ranks, so none occurs twice if none is missing.
        let places = places.into_iter().collect::<Option<Vec<_>>>()?;
        (!order.is_empty()).then_some(Self { order, places })
    }

    /// Number of ranks, at least one.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.order.len()
    }

    /// The rank that `rank` sends to.
    #[must_use]
    pub fn next(&self, rank: u32) -> u32 {
        self.after(rank, 1)
    }

    /// The rank that `rank` receives from.
    #[must_use]
    pub fn previous(&self, rank: u32) -> u32 {
        self.before(rank, 1)
    }

    fn after(&self, rank: u32, distance: usize) -> u32 {
        self.order[(self.place(rank) + distance) % self.ranks()]
    }

    fn before(&self, rank: u32, distance: usize) -> u32 {
        self.after(rank, self.ranks() - distance % self.ranks())
    }

    fn distance_from_zero(&self, rank: u32) -> usize {
        (self.place(rank) + self.ranks() - self.place(0)) % self.ranks()
    }

    fn place(&self, rank: u32) -> usize {
        self.places.get(rank as usize).copied().unwrap_or_default()
    }
}

impl Action {
    /// Whether the previous rank sends the chunk.
    #[must_use]
    pub const fn receives(self) -> bool {
        !matches!(self, Self::Send | Self::CopySend)
    }

    /// Whether it is reduced with the input.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(self, Self::RecvReduceSend | Self::RecvReduceCopySend | Self::RecvReduceCopy)
    }

    /// Whether it becomes output.
    #[must_use]
    pub const fn copies(self) -> bool {
        !matches!(self, Self::Send | Self::RecvReduceSend)
    }

    /// Whether it is sent to the next rank.
    #[must_use]
    pub const fn sends(self) -> bool {
        !matches!(self, Self::RecvReduceCopy | Self::Recv)
    }

    /// Part of the collective that a chunk belongs to when it is received.
    #[must_use]
    pub const fn part_received(self, kind: Kind) -> Part {
        match kind {
            Kind::Broadcast => Part::Broadcast,
            _ if self.reduces() => Part::ReduceScatter,
            _ => Part::AllGather,
        }
    }

    /// Part of the collective that a chunk belongs to when it is sent.
    #[must_use]
    pub const fn part_sent(self, kind: Kind) -> Part {
        match kind {
            Kind::Broadcast => Part::Broadcast,
            _ if self.copies() => Part::AllGather,
            _ => Part::ReduceScatter,
        }
    }
}
