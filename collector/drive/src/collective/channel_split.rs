//! Which channel carries which part of a collective.
//!
//! Both releases give each channel one contiguous range. 2.21.5 assigns equal shares, rounded up to
//! 4096 bytes. 2.27.7 assigns cells, each the least traffic worth a channel; the last channel takes
//! the rest.
//!
//! Sources: NCCL 2.21.5 `src/enqueue.cc` (`getChannnelThreadInfo`, `addCBDCollToPlan`), 2.27.7
//! `src/enqueue.cc` (`topoGetAlgoInfo`, `scheduleCollTasksToPlan`).

use super::{Kind, Operation};
use crate::release::Release;

/// Bytes below which another channel does not pay: 512 threads of a Simple ring kernel, 64 bytes
/// each (`NCCL_SIMPLE_MAX_NTHREADS`, `NCCL_SIMPLE_THREAD_THRESHOLD`).
const BYTES_PER_CHANNEL: usize = 512 * 64;

/// 2.21.5 rounds shares up to this many bytes (`NCCL_SIMPLE_ALIGNMENT`).
pub(super) const SHARE_GRAIN: usize = 4096;

/// Least traffic per channel in 2.27.7 (`MinTrafficPerChannel`), bytes.
const LEAST_TRAFFIC: usize = 16 << 10;

/// The part of a collective that one channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Channel number, from 0.
    pub channel: u32,
    /// Offset in bytes from the start of a rank's part (AllGather, ReduceScatter) or of the buffer.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
}

/// Splits a collective over at most `channels` channels, from the first; channels without data take
/// no part.
#[must_use]
pub fn split(release: Release, operation: &Operation, ranks: u32, channels: u32) -> Vec<Share> {
    let bytes = operation.part_bytes();
    if bytes == 0 {
        return Vec::new();
    }
    let worthwhile = operation.total_bytes(ranks) / BYTES_PER_CHANNEL;
    let used = worthwhile.clamp(1, channels.max(1) as usize);
    let sizes = match release {
        Release::V2_21_5 => equal_shares(bytes, used),
        Release::V2_27_7 => cells(operation, ranks, used, channels.max(1) as usize),
    };
    let mut offset = 0;
    let shares = (0..).zip(sizes).map(|(channel, bytes)| {
        let share = Share { channel, offset, bytes };
        offset += bytes;
        share
    });
    shares.collect()
}

fn equal_shares(bytes: usize, used: usize) -> Vec<usize> {
    let share = bytes.div_ceil(used).next_multiple_of(16).next_multiple_of(SHARE_GRAIN);
    (0..bytes).step_by(share).map(|offset| share.min(bytes - offset)).collect()
}

fn cells(operation: &Operation, ranks: u32, used: usize, channels: usize) -> Vec<usize> {
    let bytes = operation.part_bytes();
    // Number of times that each byte of a part crosses a link.
    let crossings = match operation.kind {
        Kind::AllReduce => 2,
        Kind::AllGather | Kind::ReduceScatter => ranks as usize,
        Kind::Broadcast => 1,
    };
    let cell = LEAST_TRAFFIC.div_ceil(crossings).next_multiple_of(16);
    let share = (bytes * crossings / used).max(LEAST_TRAFFIC);
    let total = bytes.div_ceil(cell);
    if channels == 1 {
        return vec![bytes];
    }
    let each = share.div_ceil(cell * crossings).min(total);
    let rest = total - each;
    // The first channel takes `each` cells, and so do all others but the last.
    let (each, others) = if 1 + rest.div_ceil(each) > channels {
        (rest / (channels - 1), channels - 1)
    } else {
        (each, rest.div_ceil(each))
    };
    let first = total - rest;
    let mut sizes = vec![first * cell];
    sizes.extend(std::iter::repeat_n(each * cell, others));
    let before_last = first + each * others.saturating_sub(1);
    if let Some(last) = sizes.last_mut() {
        let cells_before = if others == 0 { 0 } else { before_last };
        *last = bytes - cells_before * cell;
    }
    sizes
}
