//! A profiler plugin behind the interface of NCCL's `ncclProfiler_v1` to `ncclProfiler_v7`.
#![expect(unsafe_code, reason = "a library is loaded, and called through its table")]

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use super::descriptor::Descriptor;

/// NCCL's logger takes more arguments after `format`; this one reads none of them.
type Logger = unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char);
type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    Logger,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    Logger,
) -> c_int;

/// `ncclProfiler_vN_t`: 48 bytes in all versions.
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    name: *const c_char,
    init: *const c_void,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    record: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// What a plugin learns of a communicator when it begins.
pub(super) struct Beginning {
    pub(super) hash: u64,
    pub(super) ranks: i32,
    pub(super) rank: i32,
    pub(super) nodes: i32,
}

/// NCCL's mask of events: one for the process, which the plugin may change at any time.
static MASK: AtomicI32 = AtomicI32::new(0);

/// A loaded plugin, and its context of one communicator.
pub(super) struct Plugin {
    library: *mut c_void,
    /// A copy: the library has its own until it is closed.
    table: Table,
    version: u8,
    context: *mut c_void,
}

impl Plugin {
    /// Loads the library at `path`, takes the newest table that it has, and begins a communicator.
    pub(super) fn begin(path: &Path, beginning: &Beginning) -> Result<Self, String> {
        let (library, table, version) = open(path)?;
        let context = init(&table, version, beginning);
        match context {
            Ok(context) => Ok(Self { library, table, version, context }),
            Err(result) => {
                // SAFETY: it was opened above, and nothing of it is used any more.
                unsafe { libc::dlclose(library) };
                Err(format!("init of ncclProfiler_v{version} returned {result}"))
            }
        }
    }

    /// 1 to 7.
    pub(super) const fn version(&self) -> u8 {
        self.version
    }

    /// Events that the plugin wants now.
    pub(super) fn mask(&self) -> i32 {
        MASK.load(Relaxed)
    }

    /// Starts an event; 0 if the plugin does not want it.
    pub(super) fn start(&self, mut descriptor: Descriptor) -> usize {
        let mut handle: *mut c_void = std::ptr::null_mut();
        let place = descriptor.bytes_mut().as_mut_ptr().cast();
        // SAFETY: descriptor and handle are as NCCL's headers have them, and outlive the call. What it
        // returns is ignored, as by NCCL.
        unsafe { (self.table.start)(self.context, &raw mut handle, place) };
        handle.expose_provenance()
    }

    /// Ends an event.
    pub(super) fn stop(&self, handle: usize) {
        // SAFETY: the handle is the plugin's own.
        unsafe { (self.table.stop)(pointer(handle)) };
    }

    /// Reports a state of an event; `value` is `transSize`, or `pTimer` of a kernel.
    pub(super) fn state(&self, handle: usize, state: i32, value: u64) {
        let mut args = [value, 0];
        // SAFETY: the handle is the plugin's own, and the arguments are as large as those of any version.
        unsafe { (self.table.record)(pointer(handle), state, args.as_mut_ptr().cast()) };
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: the communicator ends here, and with the last one NCCL unloads the library.
        unsafe {
            if !self.context.is_null() {
                (self.table.finalize)(self.context);
            }
            libc::dlclose(self.library);
        }
    }
}

fn open(path: &Path) -> Result<(*mut c_void, Table, u8), String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "NUL in the path")?;
    // SAFETY: a string that ends.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(last_error());
    }
    for version in (1..=7).rev() {
        let Ok(symbol) = CString::new(format!("ncclProfiler_v{version}")) else { continue };
        // SAFETY: an open library; the table is there as long as it is open.
        let table =
            unsafe { libc::dlsym(library, symbol.as_ptr()).cast::<Table>().as_ref().copied() };
        if let Some(table) = table {
            return Ok((library, table, version));
        }
    }
    // SAFETY: it was opened above.
    unsafe { libc::dlclose(library) };
    Err("it is no profiler plugin of NCCL: it has none of ncclProfiler_v1 to ncclProfiler_v7"
        .into())
}

fn init(table: &Table, version: u8, beginning: &Beginning) -> Result<*mut c_void, c_int> {
    let mut context: *mut c_void = std::ptr::null_mut();
    let mask = MASK.as_ptr();
    let name = c"".as_ptr();
    let &Beginning { hash, ranks, rank, nodes } = beginning;
    // SAFETY: the signatures are those of NCCL's headers.
    let result = unsafe {
        match version {
            1..=3 => {
                std::mem::transmute::<*const c_void, InitV1>(table.init)(&raw mut context, mask)
            }
            4 => {
                let init = std::mem::transmute::<*const c_void, InitV4>(table.init);
                init(&raw mut context, mask, name, hash, nodes, ranks, rank, ignore)
            }
            _ => {
                let init = std::mem::transmute::<*const c_void, InitV5>(table.init);
                init(&raw mut context, hash, mask, name, nodes, ranks, rank, ignore)
            }
        }
    };
    if result == 0 { Ok(context) } else { Err(result) }
}

/// The driver has no log for plugins.
unsafe extern "C" fn ignore(_: c_int, _: c_ulong, _: *const c_char, _: c_int, _: *const c_char) {}

fn last_error() -> String {
    // SAFETY: dlerror returns a string of this thread, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: a string that ends, until the next call of the loader.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn pointer(handle: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(handle)
}
