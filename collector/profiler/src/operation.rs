//! Operations of proxies, and their transfers: where each waits, from state to state.
//!
//! A send waits for its GPU, for the receiver's grant, and for the network. A receive waits for the
//! network or the sender, for the flush of its data, and for its GPU.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::abi::state;
use crate::collective;
use crate::count::{Loss, lost};
use crate::event::{Change, Operation};
use crate::handle::{Handle, Kind};
use crate::record::{self, Ended, Identity, Waits, flag};
use crate::ring::push;

/// Operations at a time.
const SLOTS: usize = 8192;

/// Transfers of an operation at a time: NCCL_STEPS.
const TRANSFERS: usize = 8;

/// A transfer that is not there.
const NONE: u64 = 0;

/// A transfer: when it got into each state, in nanoseconds; 0 if it has not.
struct Transfer {
    number: AtomicU32,
    is_live: AtomicBool,
    times: [AtomicU64; 4],
}

impl Transfer {
    const fn new() -> Self {
        Self {
            number: AtomicU32::new(0),
            is_live: AtomicBool::new(false),
            times: [const { AtomicU64::new(NONE) }; 4],
        }
    }
}

struct Slot {
    /// Counts the uses.
    generation: AtomicU32,
    /// The operation itself, and its transfers that have not stopped. 0: free.
    references: AtomicU32,
    /// The free slot behind this one, counted from 1.
    next: AtomicU32,
    number: AtomicU32,
    comm: AtomicU32,
    flags: AtomicU8,
    /// Times that a grant was asked for in vain.
    polls: AtomicU32,
    started: AtomicU64,
    worked: AtomicU64,
    bytes: AtomicU64,
    /// Handle of its collective, 0 if none is held.
    collective: AtomicU64,
    transfers: [Transfer; TRANSFERS],
}

impl Slot {
    const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            references: AtomicU32::new(0),
            next: AtomicU32::new(0),
            number: AtomicU32::new(0),
            comm: AtomicU32::new(0),
            flags: AtomicU8::new(0),
            polls: AtomicU32::new(0),
            started: AtomicU64::new(NONE),
            worked: AtomicU64::new(NONE),
            bytes: AtomicU64::new(0),
            collective: AtomicU64::new(0),
            transfers: [const { Transfer::new() }; TRANSFERS],
        }
    }
}

/// Zeros: memory is used as slots are.
static POOL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
/// The first free slot, counted from 1, and above it a count of changes.
static FREE: AtomicU64 = AtomicU64::new(0);
/// Slots that have ever been used.
static USED: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(0);

fn allocate() -> Option<(u16, &'static Slot)> {
    let mut head = FREE.load(Acquire);
    loop {
        let first = head & u64::from(u32::MAX);
        if first == 0 {
            break;
        }
        let at = usize::try_from(first - 1).ok()?;
        let slot = POOL.get(at)?;
        let next = u64::from(slot.next.load(Relaxed)) | ((head >> 32) + 1) << 32;
        match FREE.compare_exchange_weak(head, next, AcqRel, Acquire) {
            Ok(_) => return Some((u16::try_from(at).ok()?, slot)),
            Err(now) => head = now,
        }
    }
    let at = USED.load(Relaxed);
    if usize::try_from(at).ok()? >= SLOTS {
        return None;
    }
    let at = usize::try_from(USED.fetch_add(1, Relaxed)).ok()?;
    Some((u16::try_from(at).ok()?, POOL.get(at)?))
}

fn free(at: u16, slot: &Slot) {
    slot.generation.fetch_add(1, AcqRel);
    let parent = slot.collective.swap(0, Relaxed);
    if parent != 0 {
        collective::release(parent);
    }
    let mut head = FREE.load(Relaxed);
    loop {
        slot.next.store((head & u64::from(u32::MAX)) as u32, Relaxed);
        let first = (u64::from(at) + 1) | ((head >> 32) + 1) << 32;
        match FREE.compare_exchange_weak(head, first, AcqRel, Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// Gives back one reference; the last one frees the slot.
fn release(at: u16, slot: &Slot) {
    let before = slot.references.fetch_update(AcqRel, Acquire, |count| count.checked_sub(1));
    if before == Ok(1) {
        free(at, slot);
    }
}

/// The slot of a handle that is still in use.
fn live(handle: Handle) -> Option<&'static Slot> {
    let slot = POOL.get(usize::from(handle.slot))?;
    let is_live =
        slot.generation.load(Acquire) == handle.generation && slot.references.load(Acquire) != 0;
    is_live.then_some(slot)
}

/// Begins an operation. `is_own` says whether its collective is one of this process. Returns its
/// handle, 0 if there is no room.
pub(crate) fn begin(of: &Operation, is_own: bool, comm: u32, now: u64) -> u64 {
    let Some((at, slot)) = allocate() else {
        lost(Loss::Operation);
        return 0;
    };
    let parent = if is_own { collective::adopt(of.parent) } else { None };
    let identity = parent.unwrap_or(Identity { comm, ..Identity::default() });
    let mut flags = if of.is_send { flag::SEND } else { 0 };
    if !is_own {
        flags |= flag::FOREIGN;
    }
    let number = LAST.fetch_add(1, Relaxed).wrapping_add(1);
    slot.number.store(number, Relaxed);
    slot.comm.store(identity.comm, Relaxed);
    slot.flags.store(flags, Relaxed);
    slot.polls.store(0, Relaxed);
    slot.started.store(now, Relaxed);
    slot.worked.store(NONE, Relaxed);
    slot.bytes.store(0, Relaxed);
    slot.collective.store(parent.map_or(0, |_| of.parent), Relaxed);
    for transfer in &slot.transfers {
        transfer.is_live.store(false, Relaxed);
    }
    slot.references.store(1, Release);
    let generation = slot.generation.load(Relaxed);
    push(&record::start(of, identity, number, flags, now));
    if !is_own {
        push(&record::foreign(number, of.pid, of.parent));
    }
    Handle { kind: Kind::Operation, place: 0, slot: at, generation }.pack()
}

/// Ends an operation. Its transfers may end later.
fn end(handle: Handle, now: u64) {
    let Some(slot) = live(handle) else { return lost(Loss::Stale) };
    let started = slot.started.load(Relaxed);
    let worked = slot.worked.load(Relaxed);
    push(&record::end(&Ended {
        number: slot.number.load(Relaxed),
        flags: slot.flags.load(Relaxed),
        polls: u16::try_from(slot.polls.load(Relaxed)).unwrap_or(u16::MAX),
        lasted: now.saturating_sub(started),
        queued: (worked != NONE).then(|| worked.saturating_sub(started)),
        bytes: slot.bytes.load(Relaxed),
    }));
    release(handle.slot, slot);
}

/// Begins a transfer. NCCL begins a receive again and again until it is posted: it is the same
/// transfer, which began at its first. Returns its handle, 0 if it is not recorded.
pub(crate) fn begin_transfer(parent: u64, number: u32, now: u64) -> u64 {
    let Some(parent) = Handle::of(parent, Kind::Operation) else {
        lost(Loss::Orphan);
        return 0;
    };
    let Some(slot) = live(parent) else {
        lost(Loss::Orphan);
        return 0;
    };
    let place = number % TRANSFERS as u32;
    let Some(transfer) = slot.transfers.get(usize::try_from(place).unwrap_or(0)) else { return 0 };
    let handle = Handle { kind: Kind::Transfer, place: place as u8, ..parent }.pack();
    if transfer.is_live.load(Relaxed) {
        if transfer.number.load(Relaxed) == number {
            return handle;
        }
        // The one before was never stopped, and takes its reference along.
        lost(Loss::Displaced);
    } else {
        slot.references.fetch_add(1, AcqRel);
        transfer.is_live.store(true, Relaxed);
    }
    transfer.number.store(number, Relaxed);
    for time in &transfer.times {
        time.store(NONE, Relaxed);
    }
    set(transfer, 0, now);
    handle
}

fn set(transfer: &Transfer, place: usize, now: u64) {
    if let Some(time) = transfer.times.get(place) {
        time.store(now, Relaxed);
    }
}

fn time(transfer: &Transfer, place: usize) -> u64 {
    transfer.times.get(place).map_or(NONE, |time| time.load(Relaxed))
}

/// Notes the time of a state, unless it has one. Returns whether it was the first.
fn note(transfer: &Transfer, place: usize, clock: fn() -> u64) -> bool {
    let is_first = time(transfer, place) == NONE;
    if is_first {
        set(transfer, place, clock());
    }
    is_first
}

/// Takes a state of an operation or a transfer.
pub(crate) fn change(handle: Handle, change: Change, clock: fn() -> u64) {
    let Some(slot) = live(handle) else { return lost(Loss::Stale) };
    if handle.kind == Kind::Operation {
        return change_operation(slot, change, clock);
    }
    let Some(transfer) = slot.transfers.get(usize::from(handle.place)) else { return };
    if !transfer.is_live.load(Relaxed) {
        return lost(Loss::Stale);
    }
    match change.state {
        // The send's first state comes with its start.
        state::SEND_GPU_WAIT => {}
        // Reported at every poll until the receiver has granted room.
        state::SEND_PEER_WAIT if !note(transfer, 1, clock) => {
            slot.polls.fetch_add(1, Relaxed);
        }
        state::SEND_WAIT => {
            note(transfer, 2, clock);
            slot.bytes.fetch_add(change.value, Relaxed);
        }
        state::RECV_WAIT => {
            note(transfer, 1, clock);
        }
        state::RECV_FLUSH_WAIT => {
            note(transfer, 2, clock);
            slot.bytes.fetch_add(change.value, Relaxed);
        }
        state::RECV_GPU_WAIT => {
            note(transfer, 3, clock);
        }
        _ => {}
    }
}

fn change_operation(slot: &Slot, change: Change, clock: fn() -> u64) {
    match change.state {
        state::OP_IN_PROGRESS if slot.worked.load(Relaxed) == NONE => {
            slot.worked.store(clock(), Relaxed);
        }
        // Up to NCCL 2.26 the operation, not the transfer, reports the wait for the receiver. Sends go
        // in order, so it is the wait of the oldest transfer that has not been sent.
        state::OP_SEND_REM_FIFO_WAIT => {
            let waits =
                |transfer: &&Transfer| transfer.is_live.load(Relaxed) && time(transfer, 2) == NONE;
            let oldest = slot
                .transfers
                .iter()
                .filter(waits)
                .min_by_key(|transfer| transfer.number.load(Relaxed));
            if let Some(transfer) = oldest
                && !note(transfer, 1, clock)
            {
                slot.polls.fetch_add(1, Relaxed);
            }
        }
        _ => {}
    }
}

/// Ends an operation or a transfer.
pub(crate) fn stop(handle: Handle, now: u64) {
    if handle.kind == Kind::Operation {
        return end(handle, now);
    }
    let Some(slot) = live(handle) else { return lost(Loss::Stale) };
    let Some(transfer) = slot.transfers.get(usize::from(handle.place)) else { return };
    if !transfer.is_live.swap(false, Relaxed) {
        return lost(Loss::Stale);
    }
    let is_send = slot.flags.load(Relaxed) & flag::SEND != 0;
    let waits = waits(slot.started.load(Relaxed), transfer, is_send, now);
    let number = transfer.number.load(Relaxed);
    push(&record::transfer(slot.number.load(Relaxed), number, &waits));
    release(handle.slot, slot);
}

/// What a transfer waited for, from the times of its states.
fn waits(started: u64, transfer: &Transfer, is_send: bool, now: u64) -> Waits {
    let [start, first, second, third] = [0, 1, 2, 3].map(|place| time(transfer, place));
    let mut flags = 0;
    let mut between = |from: u64, to: u64, missing: u8| {
        if from == NONE || to == NONE {
            flags |= missing;
            return 0;
        }
        to.saturating_sub(from)
    };
    let (begin, waits) = if is_send {
        let waits = [
            between(start, first, flag::NO_FIRST),
            between(first, second, flag::NO_SECOND),
            between(second, now, flag::NO_THIRD),
        ];
        flags |= flag::SEND;
        (start, waits)
    } else {
        let waits = [
            between(first, second, flag::NO_FIRST),
            between(second, third, flag::NO_SECOND),
            between(third, now, flag::NO_THIRD),
        ];
        (if first == NONE { start } else { first }, waits)
    };
    Waits { begin: begin.saturating_sub(started), waits, flags }
}

/// Records transfers that have been waiting since before `limit`: those of a job that hangs never
/// end.
pub(crate) fn report_open(limit: u64, now: u64) {
    let used = usize::try_from(USED.load(Relaxed)).unwrap_or(0);
    for slot in POOL.iter().take(used) {
        if slot.references.load(Acquire) == 0 || slot.started.load(Relaxed) > limit {
            continue;
        }
        for transfer in &slot.transfers {
            let since = (0..4).map(|place| time(transfer, place)).max().unwrap_or(NONE);
            if !transfer.is_live.load(Relaxed) || since == NONE || since > limit {
                continue;
            }
            let state = (0..4).filter(|place| time(transfer, *place) != NONE).max().unwrap_or(0);
            let number = transfer.number.load(Relaxed);
            let operation = slot.number.load(Relaxed);
            let flags = slot.flags.load(Relaxed) & flag::SEND;
            push(&record::open(operation, number, state as u8, flags, since, now));
        }
    }
}

/// Frees what a communicator left behind, or all with `None`: operations of an aborted one never stop.
pub(crate) fn sweep(comm: Option<u32>) {
    let used = usize::try_from(USED.load(Relaxed)).unwrap_or(0);
    for (at, slot) in (0..).zip(POOL.iter().take(used)) {
        let is_meant = comm.is_none_or(|comm| slot.comm.load(Relaxed) == comm);
        if is_meant && slot.references.swap(0, AcqRel) != 0 {
            free(at, slot);
        }
    }
}
