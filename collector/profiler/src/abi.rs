//! NCCL's structures of the profiler interface, versions 1 to 7, as they lie in memory.
//!
//! Offsets are those of NCCL's headers on 64-bit Linux; the assertions at the end hold them. Only
//! the members of an event's own type may be read: NCCL's shims for older versions leave the others
//! uninitialised. C's `bool` is read as `u8`.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

/// A descriptor: what all have in common, and what its type adds. `K` is the width of the type:
/// `u8` in versions 1 to 4, `u64` since 5.
#[repr(C)]
pub(crate) struct Descriptor<K, B> {
    /// One bit of the activation mask.
    pub(crate) kind: K,
    /// Handle of the event that this one belongs to.
    pub(crate) parent: *mut c_void,
    /// Rank in the communicator; not filled in for all types.
    pub(crate) rank: c_int,
    /// Members of this type. They begin at offset 24 in every version.
    pub(crate) body: Body<B>,
}

/// Aligns members to 8 bytes, as the union of NCCL's header does.
#[repr(C, align(8))]
pub(crate) struct Body<B>(pub(crate) B);

/// A collective in version 1, in which function and types are numbers.
#[repr(C)]
pub(crate) struct CollV1 {
    pub(crate) name: *const c_char,
    pub(crate) comm_hash: u64,
    pub(crate) sequence: u64,
    pub(crate) func: u8,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) root: c_int,
    pub(crate) datatype: u8,
    pub(crate) op: u32,
    pub(crate) traffic_bytes: usize,
    pub(crate) channels: u8,
    pub(crate) warps: u8,
    pub(crate) algo: u8,
    pub(crate) proto: u8,
    pub(crate) is_collnet: c_int,
    pub(crate) is_nvls: c_int,
}

/// A collective in version 2.
#[repr(C)]
pub(crate) struct CollV2 {
    pub(crate) name: *const c_char,
    pub(crate) comm_hash: u64,
    pub(crate) sequence: u64,
    pub(crate) func: *const c_char,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) root: c_int,
    pub(crate) datatype: *const c_char,
    pub(crate) traffic_bytes: usize,
    pub(crate) channels: u8,
    pub(crate) warps: u8,
    pub(crate) algo: *const c_char,
    pub(crate) proto: *const c_char,
}

/// A collective in version 3.
#[repr(C)]
pub(crate) struct CollV3 {
    pub(crate) name: *const c_char,
    pub(crate) comm_hash: u64,
    pub(crate) sequence: u64,
    pub(crate) func: *const c_char,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) root: c_int,
    pub(crate) datatype: *const c_char,
    pub(crate) channels: u8,
    pub(crate) warps: u8,
    pub(crate) algo: *const c_char,
    pub(crate) proto: *const c_char,
}

/// A collective in version 4: the communicator is named at init.
#[repr(C)]
pub(crate) struct CollV4 {
    pub(crate) sequence: u64,
    pub(crate) func: *const c_char,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) root: c_int,
    pub(crate) datatype: *const c_char,
    pub(crate) channels: u8,
    pub(crate) warps: u8,
    pub(crate) algo: *const c_char,
    pub(crate) proto: *const c_char,
}

/// A collective in versions 5 and 6.
#[repr(C)]
pub(crate) struct CollV5 {
    pub(crate) common: CollV4,
    pub(crate) parent_group: *mut c_void,
}

/// A collective in version 7.
#[repr(C)]
pub(crate) struct CollV7 {
    pub(crate) common: CollV5,
    pub(crate) kernel_variant: *const c_char,
    pub(crate) is_symmetric: u8,
    pub(crate) user_tag: u64,
}

/// A send or receive in version 1.
#[repr(C)]
pub(crate) struct P2pV1 {
    pub(crate) name: *const c_char,
    pub(crate) comm_hash: u64,
    pub(crate) func: u8,
    pub(crate) buffer: *mut c_void,
    pub(crate) datatype: u8,
    pub(crate) count: usize,
    pub(crate) peer: c_int,
}

/// A send or receive in versions 2 and 3.
#[repr(C)]
pub(crate) struct P2pV2 {
    pub(crate) name: *const c_char,
    pub(crate) comm_hash: u64,
    pub(crate) func: *const c_char,
    pub(crate) buffer: *mut c_void,
    pub(crate) datatype: *const c_char,
    pub(crate) count: usize,
    pub(crate) peer: c_int,
}

/// A send or receive in version 4.
#[repr(C)]
pub(crate) struct P2pV4 {
    pub(crate) func: *const c_char,
    pub(crate) buffer: *mut c_void,
    pub(crate) datatype: *const c_char,
    pub(crate) count: usize,
    pub(crate) peer: c_int,
    pub(crate) channels: u8,
}

/// A send or receive in versions 5 and 6.
#[repr(C)]
pub(crate) struct P2pV5 {
    pub(crate) common: P2pV4,
    pub(crate) parent_group: *mut c_void,
}

/// A send or receive in version 7.
#[repr(C)]
pub(crate) struct P2pV7 {
    pub(crate) common: P2pV5,
    pub(crate) user_tag: u64,
}

/// An operation of a proxy, all versions. RCCL's version 6 has more members behind these.
#[repr(C)]
pub(crate) struct ProxyOp {
    /// Process of the collective: another one under PXN, whose addresses mean nothing here.
    pub(crate) pid: c_int,
    pub(crate) channel: u8,
    pub(crate) peer: c_int,
    pub(crate) transfers: c_int,
    pub(crate) chunk_size: c_int,
    pub(crate) is_send: c_int,
}

/// One transfer of an operation, all versions.
#[repr(C)]
pub(crate) struct ProxyStep {
    pub(crate) number: c_int,
}

/// A channel of a kernel, version 3.
#[repr(C)]
pub(crate) struct KernelChV3 {
    pub(crate) channel: u8,
}

/// A channel of a kernel, since version 4.
#[repr(C)]
pub(crate) struct KernelChV4 {
    pub(crate) channel: u8,
    pub(crate) timer: u64,
}

/// An event of a network plugin, since version 3.
#[repr(C)]
pub(crate) struct NetPlugin {
    pub(crate) id: i64,
    pub(crate) data: *mut c_void,
}

/// A call of a collective, since version 5; `user_tag` since 7.
#[repr(C)]
pub(crate) struct CollApi {
    pub(crate) func: *const c_char,
    pub(crate) count: usize,
    pub(crate) datatype: *const c_char,
    pub(crate) root: c_int,
    pub(crate) stream: *mut c_void,
    pub(crate) is_captured: u8,
    pub(crate) user_tag: u64,
}

/// A call of a send or receive, since version 5; `user_tag` since 7.
#[repr(C)]
pub(crate) struct P2pApi {
    pub(crate) func: *const c_char,
    pub(crate) count: usize,
    pub(crate) datatype: *const c_char,
    pub(crate) stream: *mut c_void,
    pub(crate) is_captured: u8,
    pub(crate) user_tag: u64,
}

/// A group of calls, since version 5.
#[repr(C)]
pub(crate) struct GroupApi {
    pub(crate) is_captured: u8,
    pub(crate) depth: c_int,
}

/// A launch of a kernel, since version 5.
#[repr(C)]
pub(crate) struct KernelLaunch {
    pub(crate) stream: *mut c_void,
}

/// A collective by copy engines, version 6; version 7 adds a tag behind.
#[repr(C)]
pub(crate) struct CeColl {
    pub(crate) sequence: u64,
    pub(crate) func: *const c_char,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) root: c_int,
    pub(crate) datatype: *const c_char,
    pub(crate) sync_strategy: *const c_char,
    pub(crate) intra_batch_sync: u8,
    pub(crate) batch_size: u32,
    pub(crate) batches: u32,
    pub(crate) ce_sequence: u32,
    pub(crate) stream: *mut c_void,
}

/// A collective by copy engines, version 7.
#[repr(C)]
pub(crate) struct CeCollV7 {
    pub(crate) common: CeColl,
    pub(crate) user_tag: u64,
}

/// A synchronisation of copy engines, since version 6.
#[repr(C)]
pub(crate) struct CeSync {
    pub(crate) is_complete: u8,
    pub(crate) ranks: c_int,
}

/// A batch of copies, since version 6.
#[repr(C)]
pub(crate) struct CeBatch {
    pub(crate) ops: c_int,
    pub(crate) bytes: usize,
    pub(crate) use_intra_sync: u8,
}

/// A phase of a symmetric kernel, version 7.
#[repr(C)]
pub(crate) struct KernelPhase {
    pub(crate) channel: u8,
    pub(crate) phase: u8,
    pub(crate) name: *const c_char,
    pub(crate) timer: u64,
}

/// Arguments of a state, versions 1 to 3.
#[repr(C)]
pub(crate) struct StateArgsV1 {
    /// Bytes of proxy operations; the first four bytes are `appendedProxyOps` of proxy control.
    pub(crate) size: u64,
    pub(crate) transfers: c_int,
}

/// Arguments of a state since version 4: a union of 8 bytes.
#[repr(C)]
pub(crate) union StateArgs {
    /// Bytes of a transfer.
    pub(crate) size: u64,
    pub(crate) appended: c_int,
    pub(crate) data: *mut c_void,
    pub(crate) timer: u64,
}

/// Versions 1 to 4 name the type in one byte.
type Old<B> = Descriptor<u8, B>;
/// Later versions in eight.
type New<B> = Descriptor<u64, B>;

/// Asserts the offset of each member, and the size of the structure if it is the largest.
macro_rules! layout {
    ($type:ty $(, size $size:literal)? : $($($field:tt).+ = $offset:literal),+ $(,)?) => {
        $(const _: () = assert!(size_of::<$type>() == $size);)?
        $(const _: () = assert!(offset_of!($type, $($field).+) == $offset);)+
    };
}

layout!(Old<ProxyStep>: kind = 0, parent = 8, rank = 16, body.0.number = 24);
layout!(New<ProxyStep>: kind = 0, parent = 8, rank = 16, body.0.number = 24);
layout!(Old<ProxyOp>: body.0.pid = 24, body.0.channel = 28, body.0.peer = 32, body.0.transfers = 36,
    body.0.chunk_size = 40, body.0.is_send = 44);
layout!(New<ProxyOp>: body.0.pid = 24, body.0.channel = 28, body.0.peer = 32, body.0.transfers = 36,
    body.0.chunk_size = 40, body.0.is_send = 44);
layout!(Old<CollV1>, size 120: body.0.name = 24, body.0.comm_hash = 32, body.0.sequence = 40, body.0.func = 48,
    body.0.send = 56, body.0.recv = 64, body.0.count = 72, body.0.root = 80, body.0.datatype = 84, body.0.op = 88,
    body.0.traffic_bytes = 96, body.0.channels = 104, body.0.warps = 105, body.0.algo = 106, body.0.proto = 107,
    body.0.is_collnet = 108, body.0.is_nvls = 112);
layout!(Old<CollV2>, size 128: body.0.name = 24, body.0.comm_hash = 32, body.0.sequence = 40, body.0.func = 48,
    body.0.send = 56, body.0.recv = 64, body.0.count = 72, body.0.root = 80, body.0.datatype = 88,
    body.0.traffic_bytes = 96, body.0.channels = 104, body.0.warps = 105, body.0.algo = 112, body.0.proto = 120);
layout!(Old<CollV3>, size 120: body.0.name = 24, body.0.comm_hash = 32, body.0.sequence = 40, body.0.func = 48,
    body.0.send = 56, body.0.recv = 64, body.0.count = 72, body.0.root = 80, body.0.datatype = 88,
    body.0.channels = 96, body.0.warps = 97, body.0.algo = 104, body.0.proto = 112);
layout!(Old<CollV4>, size 104: body.0.sequence = 24, body.0.func = 32, body.0.send = 40, body.0.recv = 48,
    body.0.count = 56, body.0.root = 64, body.0.datatype = 72, body.0.channels = 80, body.0.warps = 81,
    body.0.algo = 88, body.0.proto = 96);
layout!(New<CollV5>, size 112: body.0.common.sequence = 24, body.0.common.func = 32, body.0.common.send = 40,
    body.0.common.recv = 48, body.0.common.count = 56, body.0.common.root = 64, body.0.common.datatype = 72,
    body.0.common.channels = 80, body.0.common.warps = 81, body.0.common.algo = 88, body.0.common.proto = 96,
    body.0.parent_group = 104);
layout!(New<CollV7>, size 136: body.0.common.common.sequence = 24, body.0.common.parent_group = 104,
    body.0.kernel_variant = 112, body.0.is_symmetric = 120, body.0.user_tag = 128);
layout!(Old<P2pV1>: body.0.name = 24, body.0.comm_hash = 32, body.0.func = 40, body.0.buffer = 48,
    body.0.datatype = 56, body.0.count = 64, body.0.peer = 72);
layout!(Old<P2pV2>: body.0.name = 24, body.0.comm_hash = 32, body.0.func = 40, body.0.buffer = 48,
    body.0.datatype = 56, body.0.count = 64, body.0.peer = 72);
layout!(Old<P2pV4>: body.0.func = 24, body.0.buffer = 32, body.0.datatype = 40, body.0.count = 48,
    body.0.peer = 56, body.0.channels = 60);
layout!(New<P2pV5>: body.0.common.func = 24, body.0.common.peer = 56, body.0.common.channels = 60,
    body.0.parent_group = 64);
layout!(New<P2pV7>: body.0.common.parent_group = 64, body.0.user_tag = 72);
layout!(Old<KernelChV3>: body.0.channel = 24);
layout!(New<KernelChV4>: body.0.channel = 24, body.0.timer = 32);
layout!(New<NetPlugin>: body.0.id = 24, body.0.data = 32);
layout!(New<CollApi>: body.0.func = 24, body.0.count = 32, body.0.datatype = 40, body.0.root = 48,
    body.0.stream = 56, body.0.is_captured = 64, body.0.user_tag = 72);
layout!(New<P2pApi>: body.0.func = 24, body.0.count = 32, body.0.datatype = 40, body.0.stream = 48,
    body.0.is_captured = 56, body.0.user_tag = 64);
layout!(New<GroupApi>: body.0.is_captured = 24, body.0.depth = 28);
layout!(New<KernelLaunch>: body.0.stream = 24);
layout!(New<CeColl>, size 112: body.0.sequence = 24, body.0.func = 32, body.0.send = 40, body.0.recv = 48,
    body.0.count = 56, body.0.root = 64, body.0.datatype = 72, body.0.sync_strategy = 80,
    body.0.intra_batch_sync = 88, body.0.batch_size = 92, body.0.batches = 96, body.0.ce_sequence = 100,
    body.0.stream = 104);
layout!(New<CeCollV7>: body.0.common.stream = 104, body.0.user_tag = 112);
layout!(New<CeSync>: body.0.is_complete = 24, body.0.ranks = 28);
layout!(New<CeBatch>: body.0.ops = 24, body.0.bytes = 32, body.0.use_intra_sync = 40);
layout!(New<KernelPhase>: body.0.channel = 24, body.0.phase = 25, body.0.name = 32, body.0.timer = 40);
layout!(StateArgsV1, size 16: size = 0, transfers = 8);
layout!(StateArgs, size 8: size = 0, appended = 0, data = 0, timer = 0);

/// Bits of the activation mask, and types of events.
pub(crate) mod bit {
    pub(crate) const GROUP: u64 = 1;
    pub(crate) const COLL: u64 = 2;
    pub(crate) const P2P: u64 = 4;
    pub(crate) const PROXY_OP: u64 = 8;
    pub(crate) const PROXY_STEP: u64 = 16;
    pub(crate) const PROXY_CTRL: u64 = 32;
    pub(crate) const KERNEL_CH: u64 = 64;
    pub(crate) const NET_PLUGIN: u64 = 128;
    pub(crate) const GROUP_API: u64 = 256;
    pub(crate) const COLL_API: u64 = 512;
    pub(crate) const P2P_API: u64 = 1024;
    pub(crate) const KERNEL_LAUNCH: u64 = 2048;
    pub(crate) const CE_COLL: u64 = 4096;
    pub(crate) const CE_SYNC: u64 = 8192;
    pub(crate) const CE_BATCH: u64 = 16384;
    pub(crate) const KERNEL_PHASE: u64 = 32768;

    /// All that a version of the interface has.
    pub(crate) const fn known(version: u8) -> u64 {
        match version {
            0..=2 => GROUP | COLL | P2P | PROXY_OP | PROXY_STEP | PROXY_CTRL,
            3 | 4 => known(2) | KERNEL_CH | NET_PLUGIN,
            5 => known(4) | GROUP_API | COLL_API | P2P_API | KERNEL_LAUNCH,
            6 => known(5) | CE_COLL | CE_SYNC | CE_BATCH,
            _ => known(6) | KERNEL_PHASE,
        }
    }
}

/// States of events.
pub(crate) mod state {
    use std::ffi::c_int;

    /// Operation, up to NCCL 2.26: data is there, the receiver has not granted room.
    pub(crate) const OP_SEND_REM_FIFO_WAIT: c_int = 1;
    pub(crate) const SEND_GPU_WAIT: c_int = 8;
    pub(crate) const SEND_WAIT: c_int = 9;
    pub(crate) const RECV_WAIT: c_int = 10;
    pub(crate) const RECV_FLUSH_WAIT: c_int = 11;
    pub(crate) const RECV_GPU_WAIT: c_int = 12;
    /// Operation, since NCCL 2.27: first worked on.
    pub(crate) const OP_IN_PROGRESS: c_int = 19;
    pub(crate) const SEND_PEER_WAIT: c_int = 20;
    pub(crate) const KERNEL_CH_STOP: c_int = 22;
}
