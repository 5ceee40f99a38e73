//! The forward model of a collective on one connection: which chunks it sends, in order, and as
//! which messages (NCCL `src/device/all_reduce.h`, `all_gather.h`, `reduce_scatter.h`,
//! `broadcast.h`, `src/enqueue.cc`).

use super::slicing::Slicing;
use crate::model::nccl::CollectiveKind;

/// Bytes that the last loop's chunks of a ring AllReduce are rounded to since NCCL 2.22.
const CHUNK_GRAIN: u64 = 16;

/// Chunk of a loop of an AllReduce that has `bytes` left for its channel (NCCL 2.22 and later).
#[must_use]
pub const fn last_chunk(bytes: u64, nranks: u64) -> u64 {
    bytes.div_ceil(nranks).next_multiple_of(CHUNK_GRAIN)
}

/// Bytes of chunk number `chunk` of a loop of `bytes` that is cut into chunks of `size`.
#[must_use]
pub const fn chunk_bytes(bytes: u64, size: u64, chunk: u64) -> u64 {
    let rest = bytes.saturating_sub(chunk.saturating_mul(size));
    if rest < size { rest } else { size }
}

/// Which chunk of its loop a rank sends as number `send`, from 0 to 2(n-1)-1, in a ring AllReduce.
/// `position` is the rank's distance from rank 0 along the ring.
#[must_use]
pub const fn chunk_of_send(position: u64, send: u64, nranks: u64) -> u64 {
    (position % nranks + 2 * nranks - 1 - send % nranks) % nranks
}

/// Bytes of the chunks that the rank at `position` sends to the next in a ring collective of
/// `kind`, in order. `share` is what one channel carries: of an AllReduce its part of the buffer,
/// of AllGather and ReduceScatter its part of one rank's.
#[must_use]
pub fn ring_chunks(
    kind: CollectiveKind,
    share: u64,
    nranks: u64,
    position: u64,
    slicing: &Slicing,
) -> Vec<u64> {
    let is_all_reduce = kind == CollectiveKind::AllReduce;
    let per_loop = if is_all_reduce { slicing.full * nranks } else { slicing.full };
    let mut chunks = Vec::new();
    let mut offset = 0;
    while offset < share {
        let rest = share - offset;
        if is_all_reduce {
            let size = if rest < per_loop { last_chunk(rest, nranks) } else { slicing.full };
            let bytes = rest.min(per_loop);
            chunks.extend(
                (0..2 * (nranks - 1))
                    .map(|send| chunk_bytes(bytes, size, chunk_of_send(position, send, nranks))),
            );
        } else {
            chunks.extend((1..nranks).map(|_| rest.min(per_loop)));
        }
        offset += per_loop;
    }
    chunks
}

/// Bytes of the chunks that each connection of a tree or chain carries.
#[must_use]
pub fn stream_chunks(share: u64, slicing: &Slicing) -> Vec<u64> {
    let full = share / slicing.full;
    let last = share % slicing.full;
    (0..full).map(|_| slicing.full).chain((last > 0).then_some(last)).collect()
}

/// The chunks as messages on the wire.
#[must_use]
pub fn messages(chunks: &[u64], slicing: &Slicing, element: u64) -> Vec<u64> {
    let sliced =
        |&chunk: &u64| slicing.messages(chunk, element).into_iter().take(slicing.per_chunk);
    chunks.iter().flat_map(sliced).collect()
}
