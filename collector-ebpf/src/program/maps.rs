//! All maps, and the settings.

use aya_ebpf::bindings::BPF_F_MMAPABLE;
use aya_ebpf::macros::map;
use aya_ebpf::maps::{Array, HashMap, LruHashMap, PerCpuArray, RingBuf};
use railscope_ebpf::call::Beginning;
use railscope_ebpf::flow::FlowState;
use railscope_ebpf::loss::Loss;
use railscope_ebpf::settings::Settings;
use railscope_ebpf::share::Share;
use railscope_ebpf::stream::StreamState;
use railscope_ebpf::table::{Key, Set, WAYS};

/// Bytes of the longest header that is read.
pub(super) const LONGEST_HEADER: usize = 40;

/// Events for user space, which polls: waking it for every packet costs far more than the packet.
#[map]
pub(super) static EVENTS: RingBuf = RingBuf::with_byte_size(16 << 20, 0);

/// Slots for 131,072 flows; with 32,768 flows one in 250 finds its set full. Mappable memory begins at a
/// page, so a slot of 128 bytes is two whole cache lines.
#[map]
pub(super) static FLOWS: Array<Set<FlowState>> =
    Array::with_max_entries(1 << FLOW_BITS, BPF_F_MMAPABLE);
const FLOW_BITS: u32 = 15;
const _: () = assert!(size_of::<Set<FlowState>>() == WAYS * 128);

/// Slots for 65,536 directions of TCP connections; with 16,384 one in 250 finds its set full.
#[map]
pub(super) static STREAMS: Array<Set<StreamState>> = Array::with_max_entries(1 << STREAM_BITS, 0);
const STREAM_BITS: u32 = 14;

/// The table set of this flow.
#[inline(always)]
pub(super) fn flows(key: &Key) -> Option<&'static mut Set<FlowState>> {
    // SAFETY: as everywhere here; `table.rs` says what two CPUs can do at the same time.
    unsafe { FLOWS.get_ptr_mut(key.set(FLOW_BITS)).map(|set| &mut *set) }
}

/// The table set of this direction of a TCP connection.
#[inline(always)]
pub(super) fn streams(key: &Key) -> Option<&'static mut Set<StreamState>> {
    // SAFETY: as above.
    unsafe { STREAMS.get_ptr_mut(key.set(STREAM_BITS)).map(|set| &mut *set) }
}

/// Events of processes, for user space: calls, and TCP state changes.
#[map]
pub(super) static ACTS: RingBuf = RingBuf::with_byte_size(4 << 20, 0);

/// Calls in progress, of functions whose return is reported too. A thread is in few at a time.
#[map]
pub(super) static PENDING: LruHashMap<u64, Beginning> = LruHashMap::with_max_entries(16_384, 0);

/// Calls by payer.
#[map]
pub(super) static SHARES: LruHashMap<u64, Share> = LruHashMap::with_max_entries(4096, 0);

/// Ethernet addresses of mirror ports, in the lower 48 bits, by index of the interface.
#[map]
pub(super) static OWN_ADDRESSES: HashMap<u32, u64> = HashMap::with_max_entries(1024, 0);

/// [`Loss`], one counter each.
#[map]
pub(super) static LOSSES: PerCpuArray<u64> =
    PerCpuArray::with_max_entries(Loss::ALL.len() as u32, 0);

/// Buffer for a header in pieces: a CPU handles one packet at a time.
#[map]
static SCRATCH: PerCpuArray<[u8; LONGEST_HEADER]> = PerCpuArray::with_max_entries(1, 0);

#[inline(always)]
pub(super) fn scratch() -> Option<*mut [u8; LONGEST_HEADER]> {
    SCRATCH.get_ptr_mut(0)
}

#[unsafe(no_mangle)]
static SETTINGS: Settings = Settings::DEFAULT;

/// It is 0, and nobody writes it; but it could be written.
#[unsafe(no_mangle)]
static mut NOTHING: u64 = 0;

/// 0; but the verifier only knows that it is a number.
#[inline(always)]
pub(super) fn nothing() -> u64 {
    // SAFETY: nobody writes it.
    unsafe { (&raw const NOTHING).read_volatile() }
}

/// Settings that user space writes into the object before loading it.
#[inline(always)]
pub(super) fn settings() -> Settings {
    // SAFETY: a valid static; volatile because the loader changes it behind the compiler's back.
    unsafe { core::ptr::read_volatile(&raw const SETTINGS) }
}

/// Whether losses are logged. The settings are frozen before programs are loaded, so the verifier knows the
/// answer and drops the branch that is never taken.
#[inline(always)]
pub(super) fn are_losses_logged() -> bool {
    // SAFETY: as above.
    unsafe { core::ptr::read_volatile(&raw const SETTINGS.logs) != 0 }
}
