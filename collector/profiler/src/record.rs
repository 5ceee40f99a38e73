//! Records as they lie in the ring and in files: words of 64 bits, little-endian.
//!
//! `docs/PROFILER.md` has the table of them. The reader is `decode::profiler` of `railscope-core`.

use crate::event::{Collective, Operation};

/// Kinds of records: the lowest byte of a record's first word.
const COLLECTIVE: u64 = 1;
const OPERATION_START: u64 = 2;
const OPERATION_END: u64 = 3;
const TRANSFER: u64 = 4;
const FOREIGN: u64 = 5;
const OPEN: u64 = 6;
const KERNEL: u64 = 7;

/// A collective or a send or receive that was enqueued.
pub(crate) type CollectiveRecord = [u64; 8];
/// An operation that was appended.
pub(crate) type StartRecord = [u64; 5];
/// An operation that ended.
pub(crate) type EndRecord = [u64; 3];
/// A transfer that ended.
pub(crate) type TransferRecord = [u64; 3];
/// An operation that works for another process.
pub(crate) type ForeignRecord = [u64; 3];
/// A transfer that has been waiting for long.
pub(crate) type OpenRecord = [u64; 3];
/// A kernel that ended on a channel.
pub(crate) type KernelRecord = [u64; 5];

/// Flags of operations and transfers.
pub(crate) mod flag {
    pub(crate) const SEND: u8 = 1;
    /// Transfers: the first, second or third wait is not known, because a state is missing.
    pub(crate) const NO_FIRST: u8 = 2;
    pub(crate) const NO_SECOND: u8 = 4;
    pub(crate) const NO_THIRD: u8 = 8;
    /// Operations: the collective is one of another process.
    pub(crate) const FOREIGN: u8 = 2;
    /// Collectives: a send or receive of the application.
    pub(crate) const P2P: u8 = 1;
    /// Kernels: NCCL did not give the GPU's timer.
    pub(crate) const NO_TIMER: u8 = 1;
}

/// A length of time in 32 bits: nanoseconds below 2^31; with the highest bit set, microseconds, up
/// to 35 minutes. Longer ones are that long.
pub(crate) fn span(ns: u64) -> u32 {
    match u32::try_from(ns) {
        Ok(short) if short < 1 << 31 => short,
        _ => 1 << 31 | u32::try_from(ns / 1000).unwrap_or(u32::MAX).min((1 << 31) - 1),
    }
}

fn bytes(values: [u8; 8]) -> u64 {
    u64::from_le_bytes(values)
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Identity of a collective or operation in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Number of the communicator, 0 if unknown.
    pub(crate) comm: u32,
    /// Number of the collective, 0 if unknown.
    pub(crate) collective: u32,
    /// Number of the collective within function and communicator.
    pub(crate) sequence: u32,
    /// Its function.
    pub(crate) function: u8,
}

pub(crate) fn collective(
    of: &Collective,
    identity: Identity,
    handle: u64,
    now: u64,
) -> CollectiveRecord {
    let flags = if of.is_p2p { flag::P2P } else { 0 };
    let head = [
        COLLECTIVE as u8,
        flags,
        of.function,
        of.datatype,
        of.algorithm,
        of.protocol,
        of.channels,
        0,
    ];
    [
        bytes(head),
        now,
        pair(identity.comm, identity.collective),
        of.sequence,
        of.count,
        of.tag,
        handle,
        pair(of.root.cast_unsigned(), of.rank.cast_unsigned()),
    ]
}

pub(crate) fn start(
    of: &Operation,
    identity: Identity,
    number: u32,
    flags: u8,
    now: u64,
) -> StartRecord {
    let head = [OPERATION_START as u8, flags, of.channel, identity.function];
    [
        u64::from(u32::from_le_bytes(head)) | u64::from(of.peer.cast_unsigned()) << 32,
        now,
        pair(number, identity.collective),
        pair(identity.comm, of.transfers),
        pair(identity.sequence, of.chunk_size),
    ]
}

/// What an operation was in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) number: u32,
    pub(crate) flags: u8,
    /// Times that a grant was asked for in vain.
    pub(crate) polls: u16,
    /// Nanoseconds from its start to its end.
    pub(crate) lasted: u64,
    /// Nanoseconds from its start until the proxy first worked on it; `None` if NCCL did not say.
    pub(crate) queued: Option<u64>,
    pub(crate) bytes: u64,
}

pub(crate) fn end(of: &Ended) -> EndRecord {
    let head = OPERATION_END | u64::from(of.flags) << 8 | u64::from(of.polls) << 16;
    let queued = of.queued.map_or(u32::MAX, span);
    [head | u64::from(of.number) << 32, pair(span(of.lasted), queued), of.bytes]
}

/// Nanoseconds that a transfer waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// From the operation's start to the transfer's.
    pub(crate) begin: u64,
    pub(crate) waits: [u64; 3],
    pub(crate) flags: u8,
}

pub(crate) fn transfer(operation: u32, number: u32, of: &Waits) -> TransferRecord {
    let head = TRANSFER | u64::from(of.flags) << 8 | u64::from(number & 0xffff) << 16;
    let [first, second, third] = of.waits.map(span);
    [head | u64::from(operation) << 32, pair(span(of.begin), first), pair(second, third)]
}

pub(crate) fn foreign(operation: u32, pid: i32, parent: u64) -> ForeignRecord {
    [FOREIGN | u64::from(operation) << 32, u64::from(pid.cast_unsigned()), parent]
}

/// A transfer that has been waiting in `state` since `since`.
pub(crate) fn open(
    operation: u32,
    number: u32,
    state: u8,
    flags: u8,
    since: u64,
    now: u64,
) -> OpenRecord {
    let head = OPEN | u64::from(flags) << 8 | u64::from(number & 0xffff) << 16;
    [
        head | u64::from(operation) << 32,
        now,
        u64::from(state) | now.saturating_sub(since).min(u64::MAX >> 8) << 8,
    ]
}

/// What a kernel was in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) identity: Identity,
    pub(crate) channel: u8,
    /// Nanoseconds from when NCCL saw it begin to when it saw it end.
    pub(crate) lasted: u64,
    /// Begin and end by the GPU's timer, in nanoseconds; `None` if NCCL did not give both.
    pub(crate) timer: Option<[u64; 2]>,
}

pub(crate) fn kernel(of: &Ran, now: u64) -> KernelRecord {
    let Identity { comm, collective, function, .. } = of.identity;
    let flags = if of.timer.is_none() { flag::NO_TIMER } else { 0 };
    let head = u32::from_le_bytes([KERNEL as u8, flags, of.channel, function]);
    let [begin, end] = of.timer.unwrap_or_default();
    [pair(head, collective), now, pair(comm, span(of.lasted)), begin, end]
}

/// Words of a record by its first word, 0 if it is none.
fn length(head: u64) -> usize {
    match head & 0xff {
        COLLECTIVE => 8,
        OPERATION_START | KERNEL => 5,
        OPERATION_END | TRANSFER | FOREIGN | OPEN => 3,
        _ => 0,
    }
}

/// The records at the begin of a page, counted, and their words.
pub(crate) fn whole(page: &[u64]) -> (usize, &[u64]) {
    let (mut count, mut at) = (0, 0);
    while let Some(head) = page.get(at) {
        let length = length(*head);
        if length == 0 || at + length > page.len() {
            break;
        }
        at += length;
        count += 1;
    }
    (count, page.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_below_two_seconds_and_bounded_above() {
        assert_eq!(span(0), 0);
        assert_eq!(span((1 << 31) - 1), (1 << 31) - 1);
        assert_eq!(span(1 << 31), 1 << 31 | 2_147_483);
        assert_eq!(span(60_000_000_000), 1 << 31 | 60_000_000);
        assert_eq!(span(u64::MAX), u32::MAX);
    }
}
