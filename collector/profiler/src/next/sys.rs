//! Loads the second plugin, and calls its functions.

#![expect(unsafe_code, reason = "the C boundary")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU64,
    Ordering::{Relaxed, Release},
};

use super::{IS_ON, KNOWN, MASK, forget, is_wanted, keep, mask, oldest, ours, pair, theirs};
use crate::abi::{CollV5, Descriptor, P2pV5, ProxyOp, ProxyStep, bit};
use crate::count::{Loss, lost};
use crate::handle::{Handle, Kind};
use crate::host;
use crate::plugin::Identity;

type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    *mut c_void,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    *mut c_void,
) -> c_int;

/// A table of functions of any version: only `init` differs.
#[repr(C)]
struct Table {
    name: *const c_char,
    init: *const c_void,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    record: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

const _: () = assert!(size_of::<Table>() == 48);

static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static TABLE: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());
/// The version that the second plugin has.
static VERSION: AtomicU8 = AtomicU8::new(0);
/// The version that NCCL calls: that of the descriptors.
static CALLED: AtomicU8 = AtomicU8::new(0);

/// Communicators that the second plugin can have.
const CONTEXTS: usize = 1024;
/// Its context of each communicator, by our slot: 0 if it has none.
static CONTEXT: [AtomicU64; CONTEXTS] = [const { AtomicU64::new(0) }; CONTEXTS];

fn table() -> Option<&'static Table> {
    // SAFETY: null, or a table within a library that is unloaded only after the last communicator.
    unsafe { TABLE.load(Relaxed).as_ref() }
}

fn context(ctx: u64) -> Option<&'static AtomicU64> {
    let handle = Handle::of(ctx, Kind::Communicator)?;
    CONTEXT.get(usize::from(handle.slot))
}

/// Loads a plugin, and takes the newest version of its own that can be called with descriptors of the version that
/// NCCL has taken here. Returns the version.
pub(crate) fn load(path: &Path, version: u8) -> Result<u8, String> {
    let file = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // It stays in memory: Inspector of NCCL 2.28 does not wait for its thread to end, which would return
    // into nothing.
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE;
    // SAFETY: a path that ends. Loading runs the library's initialisers, as NCCL's loading would.
    let library = unsafe { libc::dlopen(file.as_ptr(), flags) };
    if library.is_null() {
        // SAFETY: null, or a string of the dynamic linker's that lives until the next call of it.
        let error = unsafe { libc::dlerror() };
        if error.is_null() {
            return Err("dlopen failed".into());
        }
        // SAFETY: as above.
        return Err(unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned());
    }
    let oldest = oldest(version);
    let found =
        (oldest..=version).rev().find_map(|version| Some((version, find(library, version)?)));
    let Some((theirs, table)) = found else {
        // SAFETY: the library was opened above.
        unsafe { libc::dlclose(library) };
        let other = if oldest < version { format!(" or from v{oldest} on") } else { String::new() };
        return Err(format!("it has no symbol ncclProfiler_v{version}{other} of its own"));
    };
    LIBRARY.store(library, Relaxed);
    VERSION.store(theirs, Relaxed);
    CALLED.store(version, Relaxed);
    MASK.store(0, Relaxed);
    KNOWN.store(if theirs == version { u64::MAX } else { bit::known(theirs) }, Relaxed);
    TABLE.store(table, Release);
    IS_ON.store(true, Relaxed);
    Ok(theirs)
}

/// The library's table of a version, unless that is our own.
fn find(library: *mut c_void, version: u8) -> Option<*mut Table> {
    let symbol = CString::new(format!("ncclProfiler_v{version}")).ok()?;
    // SAFETY: an open library and a name that ends.
    let table = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    (!table.is_null() && table.cast_const() != own(version)).then(|| table.cast())
}

/// Our own table of a version: a library that forwards to itself would never return.
fn own(version: u8) -> *const c_void {
    use crate::entry as e;
    match version {
        1 => (&raw const e::ncclProfiler_v1).cast(),
        2 => (&raw const e::ncclProfiler_v2).cast(),
        3 => (&raw const e::ncclProfiler_v3).cast(),
        4 => (&raw const e::ncclProfiler_v4).cast(),
        5 => (&raw const e::ncclProfiler_v5).cast(),
        6 => (&raw const e::ncclProfiler_v6).cast(),
        _ => (&raw const e::ncclProfiler_v7).cast(),
    }
}

/// Unloads it after its last communicator.
pub(crate) fn unload() {
    IS_ON.store(false, Relaxed);
    TABLE.store(std::ptr::null_mut(), Relaxed);
    let library = LIBRARY.swap(std::ptr::null_mut(), Relaxed);
    if !library.is_null() {
        forget();
        // SAFETY: opened by `load`, closed once.
        unsafe { libc::dlclose(library) };
    }
}

/// Begins a communicator there, too. If it refuses, it gets no events of this one.
pub(crate) fn begin(ctx: u64, identity: Option<Identity<'_>>, logger: Option<*mut c_void>) {
    let (Some(table), Some(place)) = (table(), context(ctx)) else { return };
    let version = VERSION.load(Relaxed);
    let mut theirs: *mut c_void = std::ptr::null_mut();
    let before = MASK.load(Relaxed);
    let its_mask = (&raw const MASK).cast_mut().cast::<c_int>();
    let logger = logger.unwrap_or(std::ptr::null_mut());
    let name = identity.and_then(|identity| identity.name);
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: `init` has the signature of the version that the symbol names, and all pointers live
    // as long as NCCL's own would.
    let result = unsafe {
        match (version, identity) {
            (1..=3, _) => {
                let init = std::mem::transmute::<*const c_void, InitV1>(table.init);
                init(&raw mut theirs, its_mask)
            }
            (4, Some(of)) => {
                let init = std::mem::transmute::<*const c_void, InitV4>(table.init);
                let (hash, nodes, ranks) = (of.hash, of.nodes, of.ranks);
                init(&raw mut theirs, its_mask, name, hash, nodes, ranks, of.rank, logger)
            }
            (_, Some(of)) => {
                let init = std::mem::transmute::<*const c_void, InitV5>(table.init);
                let (hash, nodes, ranks) = (of.hash, of.nodes, of.ranks);
                init(&raw mut theirs, hash, its_mask, name, nodes, ranks, of.rank, logger)
            }
            (_, None) => return,
        }
    };
    if result != 0 {
        // It asked for events that it will not get.
        MASK.store(before, Relaxed);
    }
    place.store(if result == 0 { theirs.addr() as u64 } else { 0 }, Relaxed);
}

/// Ends a communicator there.
pub(crate) fn end(ctx: u64) {
    let (Some(table), Some(place)) = (table(), context(ctx)) else { return };
    let theirs = place.swap(0, Relaxed);
    if theirs != 0 {
        // SAFETY: the context is one that its `init` gave.
        unsafe { (table.finalize)(address(theirs)) };
    }
}

fn address(handle: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(usize::try_from(handle).unwrap_or(0))
}

/// An event that has started here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// Version of the descriptor.
    pub(crate) version: u8,
    /// NCCL's context.
    pub(crate) ctx: u64,
    /// Type of the event.
    pub(crate) kind: u64,
    /// Our handle, 0 if it is not recorded.
    pub(crate) ours: u64,
    /// NCCL's descriptor.
    pub(crate) descriptor: *mut c_void,
}

/// Starts the event there, if it is wanted. Returns the handle for NCCL.
pub(crate) fn start(started: Started) -> u64 {
    let theirs = started_there(started);
    let handle = keep(started.ours, theirs);
    if let (None, Some(table)) = (handle, table()) {
        // It would never be stopped.
        if theirs != 0 {
            // SAFETY: a handle that it has just given.
            unsafe { (table.stop)(address(theirs)) };
        }
        lost(Loss::Collective);
    }
    handle.unwrap_or(0)
}

fn started_there(started: Started) -> u64 {
    let Started { version, kind, descriptor, .. } = started;
    let Some(table) = table() else { return 0 };
    if !is_wanted(kind, mask()) || version != CALLED.load(Relaxed) {
        return 0;
    }
    let ctx = context(started.ctx).map_or(0, |ctx| ctx.load(Relaxed));
    let mut handle: *mut c_void = std::ptr::null_mut();
    // SAFETY: the descriptor is NCCL's, of this version, and may be written to. What it refers to is
    // replaced for the length of the call, and then put back. The head is the same in all versions.
    unsafe {
        let head = descriptor.cast::<Descriptor<u64, ProxyStep>>();
        let parent = (*head).parent;
        let is_foreign = kind == bit::PROXY_OP
            && (*descriptor.cast::<Descriptor<u64, ProxyOp>>()).body.0.pid.cast_unsigned()
                != host::pid();
        // The context of an event of another process is that process's. The second plugin would
        // take it for its own.
        if ctx == 0 && !is_foreign && kind != bit::PROXY_STEP && kind != bit::NET_PLUGIN {
            return 0;
        }
        let their_parent = theirs(parent.addr() as u64);
        let is_part = matches!(kind, bit::PROXY_STEP | bit::NET_PLUGIN | bit::KERNEL_PHASE);
        if is_part && their_parent == 0 {
            return 0;
        }
        if !is_foreign {
            (*head).parent = address(their_parent);
        }
        let group = group(version, kind, descriptor);
        let before = group.map(|group| group.read());
        if let (Some(group), Some(before)) = (group, before) {
            group.write(address(theirs(before.addr() as u64)));
        }
        (table.start)(address(ctx), &raw mut handle, descriptor);
        (*head).parent = parent;
        if let (Some(group), Some(before)) = (group, before) {
            group.write(before);
        }
    }
    handle.expose_provenance() as u64
}

/// Where the descriptor names the group, since version 5.
unsafe fn group(version: u8, kind: u64, descriptor: *mut c_void) -> Option<*mut *mut c_void> {
    // SAFETY: the descriptor is of this version and type.
    unsafe {
        match kind {
            bit::COLL if version >= 5 => {
                let coll = descriptor.cast::<Descriptor<u64, CollV5>>();
                Some(&raw mut (*coll).body.0.parent_group)
            }
            bit::P2P if version >= 5 => {
                let p2p = descriptor.cast::<Descriptor<u64, P2pV5>>();
                Some(&raw mut (*p2p).body.0.parent_group)
            }
            _ => None,
        }
    }
}

/// Stops the event there. Returns our handle.
pub(crate) fn stop(handle: u64) -> u64 {
    let (own, their) = (ours(handle), theirs(handle));
    if let Some(table) = table()
        && their != 0
    {
        // SAFETY: a handle that it gave.
        unsafe { (table.stop)(address(their)) };
    }
    if let Some(pair) = pair(handle) {
        pair.is_live.store(false, Release);
    }
    own
}

/// Passes a state on. Returns our handle.
pub(crate) fn change(handle: u64, state: c_int, args: *mut c_void) -> u64 {
    let their = theirs(handle);
    if let Some(table) = table()
        && their != 0
    {
        // SAFETY: a handle that it gave, and NCCL's arguments.
        unsafe { (table.record)(address(their), state, args) };
    }
    ours(handle)
}
