//! The C boundary: tables of functions, and events read from NCCL's structures.
//!
//! No panic crosses it: a fault ends all recording, and NCCL gets the answer "done" as ever.

#![expect(unsafe_code, reason = "the C boundary")]

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::abi::{
    CollV1, CollV2, CollV3, CollV4, CollV5, CollV7, Descriptor, KernelChV3, KernelChV4, P2pV1,
    P2pV2, P2pV4, P2pV5, P2pV7, ProxyOp, ProxyStep, StateArgs, bit,
};
use crate::count::{Loss, lost};
use crate::event::{
    ALGORITHMS, Change, Collective, DATATYPES, Event, FUNCTIONS, Kernel, NAME, Operation,
    PROTOCOLS, number_in, number_of,
};
use crate::host::MaskWord;
use crate::next::{self, Started};
use crate::plugin::{self, Identity};

/// NCCL's logger.
type Logger = unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char, ...);

type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;

/// A table of functions as NCCL looks for it. `I` is the type of `init`, which differs by version.
#[repr(C)]
#[derive(Debug)]
pub struct Table<I> {
    name: *const c_char,
    init: I,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    record: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the name is a static string, and the rest are functions.
unsafe impl<I> Sync for Table<I> {}

const _: () = assert!(size_of::<Table<InitV1>>() == 48);
const _: () = assert!(size_of::<Table<InitV5>>() == 48);
const _: () = assert!(std::mem::offset_of!(Table<InitV4>, init) == 8);
const _: () = assert!(std::mem::offset_of!(Table<InitV4>, start) == 16);
const _: () = assert!(std::mem::offset_of!(Table<InitV4>, stop) == 24);
const _: () = assert!(std::mem::offset_of!(Table<InitV4>, record) == 32);
const _: () = assert!(std::mem::offset_of!(Table<InitV4>, finalize) == 40);

/// Declares the table of a version.
macro_rules! version {
    ($symbol:ident, $number:literal, $init_type:ty, $init:path, $read:path) => {
        /// The table of this version.
        // SAFETY: NCCL looks for this name, which nobody else may have.
        #[unsafe(no_mangle)]
        pub static $symbol: Table<$init_type> = Table {
            name: c"railscope".as_ptr(),
            init: $init,
            start: {
                unsafe extern "C" fn start(
                    ctx: *mut c_void,
                    handle: *mut *mut c_void,
                    descriptor: *mut c_void,
                ) -> c_int {
                    // SAFETY: NCCL passes a place for the handle and a descriptor of this version.
                    unsafe { start_event($number, ctx, handle, descriptor, $read) }
                }
                start
            },
            stop,
            record: {
                unsafe extern "C" fn record(
                    handle: *mut c_void,
                    state: c_int,
                    args: *mut c_void,
                ) -> c_int {
                    // SAFETY: NCCL passes arguments of this version, or null.
                    unsafe { record_state($number, handle, state, args) }
                }
                record
            },
            finalize,
        };
    };
}

version!(ncclProfiler_v1, 1, InitV1, init::<1>, read_v1);
version!(ncclProfiler_v2, 2, InitV1, init::<2>, read_v2);
version!(ncclProfiler_v3, 3, InitV1, init::<3>, read_v3);
version!(ncclProfiler_v4, 4, InitV4, init_v4, read_v4);
version!(ncclProfiler_v5, 5, InitV5, init_v5::<5>, read_v5);
version!(ncclProfiler_v6, 6, InitV5, init_v5::<6>, read_v5);
version!(ncclProfiler_v7, 7, InitV5, init_v5::<7>, read_v7);

/// Whether the plugin has failed: it does nothing any more.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Runs what must not panic. If it does, this was the last that runs.
fn guarded<T>(run: impl FnOnce() -> T) -> Option<T> {
    if HAS_FAILED.load(Relaxed) {
        return None;
    }
    let result = catch_unwind(AssertUnwindSafe(run));
    if result.is_err() {
        HAS_FAILED.store(true, Relaxed);
        lost(Loss::Fault);
    }
    result.ok()
}

unsafe extern "C" fn init<const VERSION: u8>(ctx: *mut *mut c_void, mask: *mut c_int) -> c_int {
    // SAFETY: NCCL passes places for both answers.
    unsafe { begin(VERSION, ctx, mask, None, None) }
}

unsafe extern "C" fn init_v4(
    ctx: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    hash: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: Option<Logger>,
) -> c_int {
    // SAFETY: the name is null or a string of NCCL's.
    let name = unsafe { string(name) };
    let identity = Identity { name, hash, nodes, ranks, rank };
    // SAFETY: NCCL passes places for both answers.
    unsafe { begin(4, ctx, mask, Some(identity), logger) }
}

unsafe extern "C" fn init_v5<const VERSION: u8>(
    ctx: *mut *mut c_void,
    hash: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: Option<Logger>,
) -> c_int {
    // SAFETY: the name is null or a string of NCCL's.
    let name = unsafe { string(name) };
    let identity = Identity { name, hash, nodes, ranks, rank };
    // SAFETY: NCCL passes places for both answers.
    unsafe { begin(VERSION, ctx, mask, Some(identity), logger) }
}

unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller passes null or a string that ends.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Begins a communicator. Anything but 0 makes NCCL go on without the plugin.
unsafe fn begin(
    version: u8,
    ctx: *mut *mut c_void,
    mask: *mut c_int,
    identity: Option<Identity<'_>>,
    logger: Option<Logger>,
) -> c_int {
    if ctx.is_null() || mask.is_null() {
        return 1;
    }
    MaskWord::set_place(mask);
    let begun = guarded(|| {
        let (handle, log) = plugin::begin(version, identity);
        next::begin(handle, identity, logger.map(|logger| logger as *mut c_void));
        plugin::write_mask();
        if let (Some(log), Some(logger)) = (log, logger) {
            // SAFETY: NCCL's logger takes a format and its strings.
            unsafe { say(logger, &log) };
        }
        handle
    });
    let Some(handle) = begun else { return 1 };
    // SAFETY: NCCL's place for the answer.
    unsafe { ctx.write(opaque(handle)) };
    0
}

/// Writes a line to NCCL's log, among those of profilers.
unsafe fn say(logger: Logger, line: &str) {
    const INFO: c_int = 3;
    const PROFILE: c_ulong = 0x4000;
    let Ok(line) = std::ffi::CString::new(line) else { return };
    // SAFETY: the format takes one string, and both outlive the call.
    unsafe { logger(INFO, PROFILE, c"railscope".as_ptr(), 0, c"%s".as_ptr(), line.as_ptr()) };
}

fn opaque(handle: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(usize::try_from(handle).unwrap_or(0))
}

fn number(handle: *mut c_void) -> u64 {
    handle.addr() as u64
}

unsafe fn start_event(
    version: u8,
    ctx: *mut c_void,
    handle: *mut *mut c_void,
    descriptor: *mut c_void,
    read: unsafe fn(*const c_void) -> Event,
) -> c_int {
    if handle.is_null() {
        return 0;
    }
    let started = guarded(|| {
        if descriptor.is_null() {
            return 0;
        }
        // SAFETY: NCCL passes a descriptor of this version.
        let event = unsafe { read(descriptor) };
        if !next::is_on() {
            return plugin::start(number(ctx), event);
        }
        let ours = plugin::start(number(ctx), next::own(event));
        // SAFETY: types lie in one byte up to version 4, in eight since.
        let kind = unsafe {
            if version <= 4 {
                u64::from(descriptor.cast::<u8>().read())
            } else {
                descriptor.cast::<u64>().read()
            }
        };
        next::start(Started { version, ctx: number(ctx), kind, ours, descriptor })
    });
    // SAFETY: NCCL's place for the handle. It is always written: NCCL does not clear it.
    unsafe { handle.write(opaque(started.unwrap_or(0))) };
    0
}

unsafe extern "C" fn stop(handle: *mut c_void) -> c_int {
    guarded(|| {
        let handle = number(handle);
        plugin::stop(if next::is_on() { next::stop(handle) } else { handle });
    });
    0
}

unsafe fn record_state(version: u8, handle: *mut c_void, state: c_int, args: *mut c_void) -> c_int {
    guarded(|| {
        // Up to version 3, arguments are those of operations, whose bytes are not a transfer's.
        let value = if version <= 3 || args.is_null() {
            0
        } else {
            // SAFETY: NCCL passes arguments of this version; every member may be read as a number.
            unsafe { (*args.cast::<StateArgs>()).size }
        };
        let handle = number(handle);
        let ours = if next::is_on() { next::change(handle, state, args) } else { handle };
        plugin::change(ours, Change { state, value });
    });
    0
}

unsafe extern "C" fn finalize(ctx: *mut c_void) -> c_int {
    guarded(|| {
        next::end(number(ctx));
        if plugin::end(number(ctx)) {
            next::unload();
        }
    });
    0
}

/// A name's place in a list. Names are static strings of NCCL's.
unsafe fn named(name: *const c_char, list: &[&[u8]]) -> u8 {
    if name.is_null() {
        return 0;
    }
    let mut text = [0; NAME + 1];
    let mut length = 0;
    for (place, byte) in text.iter_mut().enumerate() {
        // SAFETY: bytes are read up to the end of the string.
        *byte = unsafe { name.cast::<u8>().add(place).read() };
        if *byte == 0 {
            break;
        }
        length = place + 1;
    }
    number_of(text.get(..length).unwrap_or_default(), list)
}

/// Reads a member of a descriptor's own type.
macro_rules! member {
    ($descriptor:expr, $width:ty, $body:ty, $($field:tt).+) => {
        // SAFETY: the descriptor is of this version and type, so that this member is filled in.
        unsafe { (*$descriptor.cast::<Descriptor<$width, $body>>()).body.0.$($field).+ }
    };
}

/// Reads the head of a descriptor, and what lies at the same place in all versions. Kernels have a
/// timer since version 4.
unsafe fn part<K, const HAS_TIMER: bool>(kind: u64, descriptor: *const c_void) -> Event {
    // SAFETY: the head is filled in for every type.
    let parent = number(unsafe { (*descriptor.cast::<Descriptor<K, ProxyStep>>()).parent });
    match kind {
        bit::PROXY_STEP => {
            let number_within = member!(descriptor, K, ProxyStep, number);
            Event::Transfer { parent, number: number_within.cast_unsigned() }
        }
        bit::PROXY_OP => Event::Operation(Operation {
            parent,
            pid: member!(descriptor, K, ProxyOp, pid),
            channel: member!(descriptor, K, ProxyOp, channel),
            peer: member!(descriptor, K, ProxyOp, peer),
            transfers: member!(descriptor, K, ProxyOp, transfers).cast_unsigned(),
            chunk_size: member!(descriptor, K, ProxyOp, chunk_size).cast_unsigned(),
            is_send: member!(descriptor, K, ProxyOp, is_send) != 0,
        }),
        bit::KERNEL_CH => Event::Kernel(Kernel {
            parent,
            channel: member!(descriptor, K, KernelChV3, channel),
            timer: if HAS_TIMER { Some(member!(descriptor, K, KernelChV4, timer)) } else { None },
        }),
        _ => Event::Other,
    }
}

unsafe fn rank<K>(descriptor: *const c_void) -> i32 {
    // SAFETY: the head is filled in for collectives, sends and receives.
    unsafe { (*descriptor.cast::<Descriptor<K, ProxyStep>>()).rank }
}

unsafe fn old_kind(descriptor: *const c_void) -> u64 {
    // SAFETY: the type is the first byte.
    u64::from(unsafe { descriptor.cast::<u8>().read() })
}

unsafe fn new_kind(descriptor: *const c_void) -> u64 {
    // SAFETY: the type is the first word.
    unsafe { descriptor.cast::<u64>().read() }
}

/// Reads a collective whose names are strings. `$($at).+` leads to the members of version 4.
macro_rules! collective {
    ($descriptor:expr, $width:ty, $body:ty $(, $at:tt)*) => {{
        let descriptor = $descriptor;
        let func = member!(descriptor, $width, $body, $($at.)* func);
        let datatype = member!(descriptor, $width, $body, $($at.)* datatype);
        let algo = member!(descriptor, $width, $body, $($at.)* algo);
        let proto = member!(descriptor, $width, $body, $($at.)* proto);
        // SAFETY: the names are static strings of NCCL's, or null.
        let (function, datatype, algorithm, protocol) = unsafe {
            (
                named(func, FUNCTIONS),
                named(datatype, DATATYPES),
                named(algo, ALGORITHMS),
                named(proto, PROTOCOLS),
            )
        };
        Collective {
            function,
            datatype,
            algorithm,
            protocol,
            channels: member!(descriptor, $width, $body, $($at.)* channels),
            sequence: member!(descriptor, $width, $body, $($at.)* sequence),
            count: member!(descriptor, $width, $body, $($at.)* count) as u64,
            root: member!(descriptor, $width, $body, $($at.)* root),
            // SAFETY: the head of a collective.
            rank: unsafe { rank::<$width>(descriptor) },
            ..Collective::default()
        }
    }};
}

/// Reads a send or receive whose names are strings.
macro_rules! p2p {
    ($descriptor:expr, $width:ty, $body:ty $(, $at:tt)*) => {{
        let descriptor = $descriptor;
        let func = member!(descriptor, $width, $body, $($at.)* func);
        let datatype = member!(descriptor, $width, $body, $($at.)* datatype);
        // SAFETY: the names are static strings of NCCL's, or null.
        let (function, datatype) = unsafe { (named(func, FUNCTIONS), named(datatype, DATATYPES)) };
        Collective {
            function,
            datatype,
            is_p2p: true,
            count: member!(descriptor, $width, $body, $($at.)* count) as u64,
            root: member!(descriptor, $width, $body, $($at.)* peer),
            // SAFETY: the head of a send or receive.
            rank: unsafe { rank::<$width>(descriptor) },
            ..Collective::default()
        }
    }};
}

unsafe fn read_v1(descriptor: *const c_void) -> Event {
    // SAFETY: a descriptor of version 1.
    let kind = unsafe { old_kind(descriptor) };
    match kind {
        bit::COLL => Event::Collective(Collective {
            function: number_in(member!(descriptor, u8, CollV1, func), FUNCTIONS),
            datatype: number_in(member!(descriptor, u8, CollV1, datatype), DATATYPES),
            algorithm: number_in(member!(descriptor, u8, CollV1, algo), ALGORITHMS),
            protocol: number_in(member!(descriptor, u8, CollV1, proto), PROTOCOLS),
            channels: member!(descriptor, u8, CollV1, channels),
            sequence: member!(descriptor, u8, CollV1, sequence),
            count: member!(descriptor, u8, CollV1, count) as u64,
            root: member!(descriptor, u8, CollV1, root),
            comm_hash: Some(member!(descriptor, u8, CollV1, comm_hash)),
            // SAFETY: the head of a collective.
            rank: unsafe { rank::<u8>(descriptor) },
            ..Collective::default()
        }),
        bit::P2P => Event::Collective(Collective {
            function: number_in(member!(descriptor, u8, P2pV1, func), FUNCTIONS),
            datatype: number_in(member!(descriptor, u8, P2pV1, datatype), DATATYPES),
            is_p2p: true,
            count: member!(descriptor, u8, P2pV1, count) as u64,
            root: member!(descriptor, u8, P2pV1, peer),
            comm_hash: Some(member!(descriptor, u8, P2pV1, comm_hash)),
            // SAFETY: the head of a send or receive.
            rank: unsafe { rank::<u8>(descriptor) },
            ..Collective::default()
        }),
        // SAFETY: as above.
        kind => unsafe { part::<u8, false>(kind, descriptor) },
    }
}

/// Versions 2 and 3 name the communicator with each collective.
macro_rules! read_named {
    ($name:ident, $coll:ty) => {
        unsafe fn $name(descriptor: *const c_void) -> Event {
            // SAFETY: a descriptor of this version.
            let kind = unsafe { old_kind(descriptor) };
            match kind {
                bit::COLL => Event::Collective(Collective {
                    comm_hash: Some(member!(descriptor, u8, $coll, comm_hash)),
                    ..collective!(descriptor, u8, $coll)
                }),
                bit::P2P => Event::Collective(Collective {
                    comm_hash: Some(member!(descriptor, u8, P2pV2, comm_hash)),
                    ..p2p!(descriptor, u8, P2pV2)
                }),
                // SAFETY: as above.
                kind => unsafe { part::<u8, false>(kind, descriptor) },
            }
        }
    };
}

read_named!(read_v2, CollV2);
read_named!(read_v3, CollV3);

unsafe fn read_v4(descriptor: *const c_void) -> Event {
    // SAFETY: a descriptor of version 4.
    let kind = unsafe { old_kind(descriptor) };
    match kind {
        bit::COLL => Event::Collective(collective!(descriptor, u8, CollV4)),
        bit::P2P => Event::Collective(p2p!(descriptor, u8, P2pV4)),
        // SAFETY: as above.
        kind => unsafe { part::<u8, true>(kind, descriptor) },
    }
}

unsafe fn read_v5(descriptor: *const c_void) -> Event {
    // SAFETY: a descriptor of version 5 or 6.
    let kind = unsafe { new_kind(descriptor) };
    match kind {
        bit::COLL => Event::Collective(collective!(descriptor, u64, CollV5, common)),
        bit::P2P => Event::Collective(p2p!(descriptor, u64, P2pV5, common)),
        // SAFETY: as above.
        kind => unsafe { part::<u64, true>(kind, descriptor) },
    }
}

unsafe fn read_v7(descriptor: *const c_void) -> Event {
    // SAFETY: a descriptor of version 7.
    let kind = unsafe { new_kind(descriptor) };
    match kind {
        bit::COLL => Event::Collective(Collective {
            tag: member!(descriptor, u64, CollV7, user_tag),
            ..collective!(descriptor, u64, CollV7, common, common)
        }),
        bit::P2P => Event::Collective(Collective {
            tag: member!(descriptor, u64, P2pV7, user_tag),
            ..p2p!(descriptor, u64, P2pV7, common, common)
        }),
        // SAFETY: as above.
        kind => unsafe { part::<u64, true>(kind, descriptor) },
    }
}

/// Writes what is left when the process exits with communicators, or the library is unloaded.
extern "C" fn at_exit() {
    guarded(crate::service::flush);
}

/// The dynamic linker calls it at exit and before it unloads the library.
#[used]
// SAFETY: the section holds pointers to functions of this type.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
