//! Kernels of collectives, channel by channel: how long the GPU worked on each.
//!
//! NCCL gives them only if it is asked for `KernelCh`, by the settings or by a second plugin. The thread
//! that reports them is none of those that report operations.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::abi::state;
use crate::collective;
use crate::count::{Loss, lost};
use crate::event::{Change, Kernel};
use crate::handle::{Handle, Kind};
use crate::record::{self, Identity, Ran};
use crate::ring::push;

/// Kernels at a time, a channel each.
const SLOTS: usize = 4096;

/// Slots that are looked at before a kernel is given up.
const TRIES: usize = 128;

/// The GPU's timer where NCCL did not give it.
const NONE: u64 = 0;

struct Slot {
    is_taken: AtomicBool,
    /// Counts the uses.
    generation: AtomicU32,
    channel: AtomicU8,
    /// Handle of its collective.
    collective: AtomicU64,
    /// Communicator and number of the collective, in one word.
    who: AtomicU64,
    function: AtomicU8,
    started: AtomicU64,
    /// Begin and end by the GPU's timer.
    timer: [AtomicU64; 2],
}

impl Slot {
    const fn new() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            generation: AtomicU32::new(0),
            channel: AtomicU8::new(0),
            collective: AtomicU64::new(0),
            who: AtomicU64::new(0),
            function: AtomicU8::new(0),
            started: AtomicU64::new(0),
            timer: [const { AtomicU64::new(NONE) }; 2],
        }
    }

    fn set_timer(&self, place: usize, value: u64) {
        if let Some(timer) = self.timer.get(place) {
            timer.store(value, Relaxed);
        }
    }

    /// Frees it, unless another thread did. Whose it was is forgotten first: it may be taken again before
    /// anything is known of what takes it.
    fn free(&self, generation: u32) {
        let next = generation.wrapping_add(1);
        if self.generation.compare_exchange(generation, next, AcqRel, Relaxed).is_ok() {
            self.who.store(0, Relaxed);
            collective::release(self.collective.swap(0, Relaxed));
            self.is_taken.store(false, Release);
        }
    }
}

static POOL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
static NEXT: AtomicU32 = AtomicU32::new(0);

fn take() -> Option<(u16, &'static Slot)> {
    (0..TRIES).find_map(|_| {
        let at = usize::try_from(NEXT.fetch_add(1, Relaxed)).unwrap_or(0) % SLOTS;
        let slot = POOL.get(at)?;
        let was_free = slot.is_taken.compare_exchange(false, true, AcqRel, Relaxed).is_ok();
        was_free.then_some((u16::try_from(at).ok()?, slot))
    })
}

/// The slot of a handle that is still in use.
fn live(handle: Handle) -> Option<&'static Slot> {
    let slot = POOL.get(usize::from(handle.slot))?;
    let is_live = slot.is_taken.load(Acquire) && slot.generation.load(Acquire) == handle.generation;
    is_live.then_some(slot)
}

/// Begins a kernel on a channel. Returns its handle, 0 if it is not recorded.
pub(crate) fn begin(of: &Kernel, now: u64) -> u64 {
    let Some(identity) = collective::adopt(of.parent) else {
        lost(Loss::Orphan);
        return 0;
    };
    let Some((at, slot)) = take() else {
        collective::release(of.parent);
        lost(Loss::Operation);
        return 0;
    };
    slot.collective.store(of.parent, Relaxed);
    slot.who.store(u64::from(identity.comm) | u64::from(identity.collective) << 32, Relaxed);
    slot.function.store(identity.function, Relaxed);
    slot.channel.store(of.channel, Relaxed);
    slot.started.store(now, Relaxed);
    slot.set_timer(0, of.timer.unwrap_or(NONE));
    slot.set_timer(1, NONE);
    let generation = slot.generation.load(Relaxed);
    Handle { kind: Kind::Kernel, place: 0, slot: at, generation }.pack()
}

/// Takes a state of a kernel: its end by the GPU's timer.
pub(crate) fn change(handle: Handle, change: Change) {
    let Some(slot) = live(handle) else { return lost(Loss::Stale) };
    if change.state == state::KERNEL_CH_STOP {
        slot.set_timer(1, change.value);
    }
}

/// Ends a kernel.
pub(crate) fn stop(handle: Handle, now: u64) {
    let Some(slot) = live(handle) else { return lost(Loss::Stale) };
    let who = slot.who.load(Relaxed);
    let [begin, end] = slot.timer.each_ref().map(|timer| timer.load(Relaxed));
    let identity = Identity {
        comm: (who & u64::from(u32::MAX)) as u32,
        collective: (who >> 32) as u32,
        sequence: 0,
        function: slot.function.load(Relaxed),
    };
    let ran = Ran {
        identity,
        channel: slot.channel.load(Relaxed),
        lasted: now.saturating_sub(slot.started.load(Relaxed)),
        timer: (begin != NONE && end != NONE).then_some([begin, end]),
    };
    push(&record::kernel(&ran, now));
    slot.free(handle.generation);
}

/// Frees what a communicator left behind, or all with `None`: kernels of an aborted one never stop.
pub(crate) fn sweep(comm: Option<u32>) {
    for slot in POOL.iter().filter(|slot| slot.is_taken.load(Acquire)) {
        let generation = slot.generation.load(Acquire);
        let of = (slot.who.load(Relaxed) & u64::from(u32::MAX)) as u32;
        if comm.is_none_or(|comm| comm == of) {
            slot.free(generation);
        }
    }
}
