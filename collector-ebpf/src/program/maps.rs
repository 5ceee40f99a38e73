//! All maps, and the settings.

use aya_ebpf::macros::map;
use aya_ebpf::maps::{HashMap, LruHashMap, PerCpuArray, RingBuf};
use railscope_ebpf::call::{Pending, PendingKey};
use railscope_ebpf::flow::{FlowKey, FlowState};
use railscope_ebpf::loss::Loss;
use railscope_ebpf::settings::Settings;
use railscope_ebpf::stream::{StreamKey, StreamState};

/// What user space reads. It polls: waking it for every packet costs far more than the packet.
#[map]
pub(super) static EVENTS: RingBuf = RingBuf::with_byte_size(16 << 20, 0);

/// Flows; user space removes those that are silent.
#[map]
pub(super) static FLOWS: HashMap<FlowKey, FlowState> = HashMap::with_max_entries(65_536, 0);

/// Directions of TCP connections; the one that was silent longest makes room.
#[map]
pub(super) static STREAMS: LruHashMap<StreamKey, StreamState> =
    LruHashMap::with_max_entries(16_384, 0);

/// What processes do, for user space: calls, and TCP's changes of state.
#[map]
pub(super) static ACTS: RingBuf = RingBuf::with_byte_size(4 << 20, 0);

/// Calls that have begun, of functions whose return is told, too. A thread is in few at a time.
#[map]
pub(super) static PENDING: LruHashMap<PendingKey, Pending> =
    LruHashMap::with_max_entries(16_384, 0);

/// [`Loss`], one counter each.
#[map]
pub(super) static LOSSES: PerCpuArray<u64> =
    PerCpuArray::with_max_entries(Loss::ALL.len() as u32, 0);

#[unsafe(no_mangle)]
static SETTINGS: Settings = Settings::DEFAULT;

/// What user space wrote into the object before it was loaded.
#[inline(always)]
pub(super) fn settings() -> Settings {
    // SAFETY: a valid static; volatile because the loader changes it behind the compiler's back.
    unsafe { core::ptr::read_volatile(&raw const SETTINGS) }
}

#[inline(always)]
pub(super) fn count(loss: Loss) {
    if let Some(counter) = LOSSES.get_ptr_mut(loss as u32) {
        // SAFETY: this CPU's own counter.
        unsafe { *counter += 1 };
    }
}
